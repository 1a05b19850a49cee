/// Hears of what a connection measures by itself.
public protocol LinkObserver: AnyObject, Sendable {
    /// A ping was answered after this long.
    ///
    /// Called on the connection's own thread: return at once.
    ///
    /// - Parameters:
    ///   - time: From when the ping left until its answer arrived.
    ///   - isAutomatic: Whether the connection had asked by itself.
    func roundTrip(_ time: Duration, isAutomatic: Bool)
}
