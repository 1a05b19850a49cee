extension Diagnosis {
    static func close(_ seen: Observations) -> [Finding] {
        guard let view = seen.close else { return [] }
        guard view.isAnswered else {
            return [
                view.endsTCP
                    ? Finding(
                        .close, "unanswered", .warning, "the server ends TCP instead of answering a close frame (RFC 6455 §5.5.1)",
                        advice: "clients take this for a loss; let the server send a close frame first")
                    : Finding(
                        .close, "never", .broken, "the server does not answer a close frame (RFC 6455 §5.5.1)",
                        advice: "every close will wait in vain: keep WebSocketTimeouts.close short")
            ]
        }
        let time = view.answerMs.map { " in \($0.msPhrase)" } ?? ""
        var findings = [
            view.code == 1000
                ? Finding(.close, "answered", .good, "a close frame is answered with 1000\(time)")
                : Finding(.close, "otherCode", .note, "a close frame with 1000 is answered with \(view.code ?? 1005)\(time)")
        ]
        if view.endsTCP {
            findings.append(Finding(.close, "endsTCP", .good, "and TCP is ended\(view.endMs.map { " after \($0.msPhrase)" } ?? "")"))
        } else {
            findings.append(
                Finding(
                    .close, "keepsTCP", .warning, "but TCP is not ended after it, as the server should (RFC 6455 §7.1.1)",
                    advice: "sockets pile up where clients wait for it, too; let the server end TCP after the close frames"))
        }
        return findings
    }
}
