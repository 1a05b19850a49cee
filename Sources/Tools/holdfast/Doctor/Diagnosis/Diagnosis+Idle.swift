extension Diagnosis {
    static func idle(_ seen: Observations) -> [Finding] {
        guard let view = seen.idle else { return [] }
        var own: [String] = []
        if view.serverPings > 0 { own.append("the server sent \(view.serverPings.counted("ping")) of its own") }
        if view.serverMessages > 0 { own.append("the server sent \(view.serverMessages.counted("message")) of its own") }
        guard let end = view.ended else {
            return [Finding(.idle, "lives", .good, "a silent connection lives for \(view.watchedMs.msPhrase) at least", details: own)]
        }
        let how = end.kind == .closed ? "is closed with \(end.closeCode ?? 1005)" : "is dropped without a close frame"
        let text = "a silent connection \(how) after \(end.ms.msPhrase)"
        guard let isKept = view.isKeptByPings, let pause = view.pingEveryMs else {
            let advice = "ping more often than that: WebSocketTimeouts.pingInterval"
            return [Finding(.idle, "ends", .warning, text, details: own, advice: advice)]
        }
        own.append("with a ping each \(pause.msPhrase) another \(isKept ? "lived on" : "ended as well")")
        return [
            isKept
                ? Finding(
                    .idle, "ends", .warning, text, details: own,
                    advice: "set WebSocketTimeouts.pingInterval to \((end.ms / 2).msPhrase) or less: pings keep it alive")
                : Finding(
                    .idle, "endsAnyway", .warning, text, details: own,
                    advice: "pings do not help: send messages of your own in time, or be ready to reconnect")
        ]
    }
}
