extension Diagnosis {
    static func limit(_ seen: Observations) -> [Finding] {
        guard let view = seen.limit else { return [] }
        let sign = view.proof == "echo" ? "its echo" : "the pong of a ping behind it"
        let proof = ["messages of \(view.sentAs); what proves that one was taken is \(sign)"]
        guard let refused = view.smallestRefused else {
            guard let taken = view.largestTaken else { return [] }
            if taken == view.cap {
                return [Finding(.limit, "none", .good, "messages of \(size(taken)) are taken; larger ones were not tried", details: proof)]
            }
            let text = "messages of \(size(taken)) are taken; there was no time to try larger ones"
            return [Finding(.limit, "slow", .note, text, details: proof)]
        }
        guard let taken = view.largestTaken else {
            return [
                Finding(
                    .limit, "tiny", .warning, "not even messages of \(size(refused)) are taken", details: proof,
                    advice: "send small messages, or raise the server's limit")
            ]
        }
        let place =
            view.isExact
            ? "messages of \(size(taken)) are taken, and not one byte more"
            : "the largest message has \(size(taken)) to \(size(refused - 1))"
        let advice = "keep below it, or raise the server's limit"
        switch view.refusal?.kind {
        case .closed where view.refusal?.closeCode == 1009:
            return [Finding(.limit, "found", .good, "\(place); larger ones are refused with 1009", details: proof)]
        case .closed:
            let code = view.refusal?.closeCode ?? 1005
            let text = "\(place); larger ones are refused with \(code), where 1009 says why"
            return [Finding(.limit, "found", .note, text, details: proof)]
        case .hungUp:
            return [
                Finding(
                    .limit, "hangsUp", .warning, "\(place); larger ones end the connection without a close frame", details: proof,
                    advice: advice)
            ]
        default:
            return [Finding(.limit, "silent", .warning, "\(place); larger ones vanish without a word", details: proof, advice: advice)]
        }
    }

    /// In units, and to the byte if that says more.
    private static func size(_ bytes: Int) -> String {
        bytes < 1000 ? bytes.bytesPhrase : "\(bytes.bytesPhrase) (\(bytes.grouped) bytes)"
    }
}
