import Holdfast

extension CloseRecord {
    /// Who closed, with which code, and what that means.
    var phrase: String {
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
