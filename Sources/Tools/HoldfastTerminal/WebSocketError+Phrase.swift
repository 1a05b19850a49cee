package import Holdfast

extension WebSocketError {
    private static let bodyLimit = 300
    private static let tellingFields = ["Location", "Retry-After", "WWW-Authenticate"]

    /// The error as lines for people; text from the server is shortened, and its control sequences are escaped.
    package var lines: [String] {
        var lines = [description.escapedOnOneLine] + optionLines
        for name in Self.tellingFields {
            for value in responseHeaders.values(name) { lines.append("\(name): \(value.escapedOnOneLine)") }
        }
        let body = String(decoding: body.prefix(Self.bodyLimit), as: UTF8.self)
        lines += body.split(whereSeparator: \.isNewline).map(\.escapedOnOneLine)
        if let record = closeRecord, let received = record.received, code == .closed {
            if !received.reason.isEmpty { lines.append("its reason: \(received.reason.escapedOnOneLine)") }
            lines.append((received.code ?? .noStatus).meaning)
        }
        return lines
    }

    private static let namesHere = [
        ("TLSOptions.additionalRoots", "--ca, with a PEM file"),
        ("TLSOptions.serverName", "--server-name"),
        ("TLSOptions.identity", "--cert, and --key"),
        ("TLSOptions.minimumVersion", "--tls-min"),
    ]

    /// The command-line options for the settings that the error recommends.
    package var optionLines: [String] {
        Self.namesHere.filter { transport.detail.contains($0.0) }.map { "\($0.0) is the option \($0.1)" }
    }
}

extension CloseRecord {
    /// Who closed, with which code, and what the code means.
    package var phrase: String {
        switch closedFirst {
        case .local where isClean: "closed: \(sent?.code ?? .noStatus)"
        case .local: "closed, but the other side did not answer the close frame"
        case .remote: "the other side closed: \(code)\(reason). \(code.meaning)"
        case nil: "lost without a close handshake: \(code)"
        }
    }

    private var reason: String {
        guard let reason = received?.reason, !reason.isEmpty else { return "" }
        return " \"\(reason.escapedOnOneLine)\""
    }
}
