import Holdfast

extension WebSocketError {
    private static let bodyLimit = 300
    private static let tellingFields = ["Location", "Retry-After", "WWW-Authenticate"]

    /// The lines that explain this error to a person; what a server sent is cut, and cannot drive the terminal.
    var lines: [String] {
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
}
