public import Foundation

/// Posts what happens to a socket to a notification center, for as long as this object is kept.
///
/// The notifications are named `webSocketConnecting`, `webSocketDidOpen`, `webSocketDidReceive`, `webSocketDidFail` and
/// `webSocketDidClose`; their object is the socket, and what they tell stands in their `userInfo` under the keys of ``Key``. They come
/// in the order of the events, on one queue, and nothing comes after `webSocketDidClose`. While those who observe are busy, the peer
/// waits.
public final class WebSocketNotifications: Sendable {
    /// What stands in the `userInfo` of a notification.
    public enum Key {
        /// Which attempt it is, an `Int`: of connecting, opened, and failed if another attempt follows.
        public static let attempt = "attempt"
        /// The ``Opening``: of opened.
        public static let opening = "opening"
        /// The `Message`: of received.
        public static let message = "message"
        /// The ``WebSocketError``: of failed, and of closed unless it was in peace.
        public static let error = "error"
        /// How long until the next attempt, a `Duration`: of failed if another attempt follows.
        public static let delay = "delay"
        /// The ``Closure``: of closed.
        public static let closure = "closure"
    }
    private let relay: QueueRelay

    /// Posts everything from now on.
    ///
    /// - Parameters:
    ///   - socket: What to follow; kept alive.
    ///   - center: Where to post.
    ///   - queue: On which queue; a serial one.
    public init(_ socket: WebSocket, center: NotificationCenter = .default, queue: DispatchQueue = .main) {
        let center = Center(center: center)
        relay = QueueRelay(socket, on: queue) { event in
            for (name, userInfo) in event.notifications { center.center.post(name: name, object: socket, userInfo: userInfo) }
        }
    }

    /// SAFETY: a notification center may be used from any thread, says its documentation.
    private struct Center: @unchecked Sendable {
        let center: NotificationCenter
    }
}

extension Notification.Name {
    /// An attempt to connect begins.
    public static let webSocketConnecting = Notification.Name("holdfast.webSocketConnecting")
    /// A connection is open.
    public static let webSocketDidOpen = Notification.Name("holdfast.webSocketDidOpen")
    /// The peer sent a message.
    public static let webSocketDidReceive = Notification.Name("holdfast.webSocketDidReceive")
    /// The connection was lost, or an attempt at one failed; with a delay, if another attempt follows.
    public static let webSocketDidFail = Notification.Name("holdfast.webSocketDidFail")
    /// Over for good; the last one.
    public static let webSocketDidClose = Notification.Name("holdfast.webSocketDidClose")
}

extension WebSocketEvent {
    private typealias Key = WebSocketNotifications.Key

    fileprivate var notifications: [(Notification.Name, [String: any Sendable])] {
        switch self {
        case .state(.connecting(let attempt)): [(.webSocketConnecting, [Key.attempt: attempt])]
        case .opened(let opening): [(.webSocketDidOpen, [Key.opening: opening, Key.attempt: opening.attempt])]
        case .message(let message): [(.webSocketDidReceive, [Key.message: message])]
        case .reconnecting(let attempt, let delay, let cause):
            [(.webSocketDidFail, [Key.attempt: attempt, Key.delay: delay, Key.error: cause])]
        case .closed(let closure):
            if let error = closure.error {
                [
                    (.webSocketDidFail, [Key.error: error]),
                    (.webSocketDidClose, [Key.closure: closure, Key.error: error]),
                ]
            } else {
                [(.webSocketDidClose, [Key.closure: closure])]
            }
        default: []
        }
    }
}
