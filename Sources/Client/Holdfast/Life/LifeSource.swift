public import SessionCore

/// Tells a ``WebSocket`` that the app comes and goes: see ``WebSocketOptions/lifeSource``.
///
/// What it tells counts as if the app had said it with ``WebSocket/tell(_:)-(AppLife.Input)``.
public protocol LifeSource: Sendable {
    /// What happens to the app from now on; one that is in the background already says so first.
    ///
    /// Called once by each socket, and let go when the socket ends.
    func updates() -> AsyncStream<AppLife.Input>
}
