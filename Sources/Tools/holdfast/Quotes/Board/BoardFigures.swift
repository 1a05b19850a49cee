/// What the board tells of its feed, above the quotes.
struct BoardFigures: Hashable, Sendable {
    /// How the connection stands.
    enum Standing: Hashable, Sendable {
        case connecting
        case connected
        case waiting
        case ended

        var name: String {
            switch self {
            case .connecting: "connecting"
            case .connected: "connected"
            case .waiting: "lost, trying again"
            case .ended: "ended"
            }
        }
    }

    var standing = Standing.connecting
    var connections = 0
    var ticks = 0
    var conflated = 0
    var gaps = 0
    var resyncs = 0
    var stale = 0
    var garbage = 0
    var roundTrip: Duration?

    /// One line on how it went.
    func summary(symbols: Int) -> String {
        let parts = [
            "\(ticks.grouped) \(ticks == 1 ? "tick" : "ticks") of \(symbols.counted("symbol"))", connections.counted("connection"),
            "\(conflated.grouped) conflated", gaps.counted("gap"), resyncs.counted("resync"), "\(stale) stale", "\(garbage) garbage",
        ]
        return parts.joined(separator: ", ")
    }
}
