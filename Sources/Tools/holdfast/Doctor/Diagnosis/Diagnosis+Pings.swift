extension Diagnosis {
    static func pings(_ seen: Observations) -> [Finding] {
        guard let pings = seen.pings, pings.sent > 0 else { return [] }
        guard let least = pings.minMs, let median = pings.medianMs, let most = pings.p95Ms else {
            return [
                Finding(
                    .pings, "never", .broken, "the server never pongs (RFC 6455 §5.5.3)",
                    advice: "use an application-level ping: WebSocketConfiguration.pingMessage; without one a living connection looks dead")
            ]
        }
        let times = "round trip \(median.msPhrase) (median), \(least.msPhrase) at best, \(most.msPhrase) (p95)"
        if pings.answered < pings.sent {
            return [
                Finding(
                    .pings, "some", .warning, "\(pings.answered) of \(pings.sent) pings were answered in time; \(times)",
                    advice: "let a pong take longer (WebSocketTimeouts.ping), or find out what keeps the server busy")
            ]
        }
        return [Finding(.pings, "answered", .good, "\(pings.answered.counted("ping")) answered; \(times)")]
    }
}
