extension Diagnosis {
    static func compression(_ seen: Observations) -> [Finding] {
        guard let view = seen.compression else { return [] }
        guard view.isAgreed else {
            return [
                Finding(
                    .compression, "declined", .note, "the server does not compress (permessage-deflate was offered)",
                    advice: "if messages are long text, switch it on, or send less")
            ]
        }
        let parameters = [
            "windows: \(window(view.serverMaxWindowBits)) for the server, \(window(view.clientMaxWindowBits)) for us",
            "the server \(takeover(view.serverNoContextTakeover)), we \(takeover(view.clientNoContextTakeover, isPlural: true)) the context",
        ]
        let sample = view.sampleBytes.flatMap { before in
            view.sentBytes.map { "; JSON of \(before.bytesPhrase) became \($0.bytesPhrase), \(ratio(before, $0)) times smaller" }
        }
        if let reaction = view.reaction, !reaction.isSurvived, reaction.kind != .nothing {
            return [
                Finding(
                    .compression, "broken", .broken, "the server agreed to compress, and ends the connection on a compressed message",
                    details: parameters + [reaction.closeCode.map { "it closed with \($0)" } ?? "without a close frame"],
                    advice: "switch compression off: WebSocketConfiguration.compression = nil, or on the server")
            ]
        }
        var details = parameters
        if let bytes = view.echoBytes, view.reaction?.kind == .echoed {
            let isCompressed = view.isEchoCompressed == true
            details.append(isCompressed ? "the echo came compressed to \(bytes.bytesPhrase)" : "the echo came uncompressed")
        }
        return [Finding(.compression, "agreed", .good, "permessage-deflate\(sample ?? "")", details: details)]
    }

    private static func window(_ bits: Int?) -> String { bits.map { (1 << $0).bytesPhrase } ?? "unknown" }

    private static func takeover(_ isNone: Bool?, isPlural: Bool = false) -> String {
        isNone == true ? (isPlural ? "forget" : "forgets") : (isPlural ? "keep" : "keeps")
    }

    private static func ratio(_ before: Int, _ after: Int) -> String {
        guard after > 0 else { return "many" }
        let tenths = before * 10 / after
        return "\(tenths / 10).\(tenths % 10)"
    }
}
