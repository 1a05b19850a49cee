public import Dispatch
public import Foundation
public import WebSocketCore

/// Receives the events of a ``WebSocket`` in code that is not async; see ``WebSocketDelegateAdapter``.
///
/// All methods do nothing by default. They are called on one queue, one at a time and in the order of the events. After
/// ``webSocket(_:didClose:)`` no method is called.
public protocol WebSocketDelegate: AnyObject {
    /// A connection has opened: the first one, or one after a loss.
    func webSocket(_ socket: WebSocket, didOpen opening: Opening)
    /// The peer sent a message.
    func webSocket(_ socket: WebSocket, didReceive message: Message)
    /// The connection was lost, or an attempt failed; the next attempt starts after `delay`.
    func webSocket(_ socket: WebSocket, willReconnectAs attempt: Int, after delay: Duration, because cause: WebSocketError)
    /// The state has changed.
    func webSocket(_ socket: WebSocket, didChangeTo state: WebSocketState)
    /// Another event happened that most delegates do not need.
    func webSocket(_ socket: WebSocket, didMeet event: WebSocketEvent)
    /// The socket has closed for good.
    func webSocket(_ socket: WebSocket, didClose closure: Closure)
}

extension WebSocketDelegate {
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didOpen opening: Opening) {}
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didReceive message: Message) {}
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, willReconnectAs attempt: Int, after delay: Duration, because cause: WebSocketError) {}
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didChangeTo state: WebSocketState) {}
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didMeet event: WebSocketEvent) {}
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didClose closure: Closure) {}

    func handle(of event: WebSocketEvent, from socket: WebSocket) {
        switch event {
        case .opened(let opening): webSocket(socket, didOpen: opening)
        case .message(let message): webSocket(socket, didReceive: message)
        case .reconnecting(let attempt, let delay, let cause):
            webSocket(socket, willReconnectAs: attempt, after: delay, because: cause)
        case .state(let state): webSocket(socket, didChangeTo: state)
        case .closed(let closure): webSocket(socket, didClose: closure)
        default: webSocket(socket, didMeet: event)
        }
    }
}

/// Calls a delegate with the events of a socket, for as long as this object is kept.
///
/// It is one more consumer of ``WebSocket/events`` and suspends: while the delegate is busy, the peer waits. It keeps the socket
/// alive, but not the delegate. If you release it on the delegate's queue, no method is called afterwards. If you release it on another
/// queue, a call that is already running finishes.
public final class WebSocketDelegateAdapter: Sendable {
    private let relay: QueueRelay

    /// Starts to deliver all events from now on.
    ///
    /// - Parameters:
    ///   - socket: The socket to follow.
    ///   - delegate: The delegate, held weakly.
    ///   - queue: The serial queue on which the methods are called.
    public init(_ socket: WebSocket, delegate: any WebSocketDelegate, queue: DispatchQueue = .main) {
        let listener = Listener(delegate)
        relay = QueueRelay(socket, on: queue) { event in listener.delegate?.handle(of: event, from: socket) }
    }

    /// SAFETY: set once, and read on the delegate's queue only.
    private final class Listener: @unchecked Sendable {
        private(set) weak var delegate: (any WebSocketDelegate)?

        init(_ delegate: any WebSocketDelegate) { self.delegate = delegate }
    }
}

/// Posts the events of a socket to a notification center, for as long as this object is kept.
///
/// The notifications are named `webSocketConnecting`, `webSocketDidOpen`, `webSocketDidReceive`, `webSocketDidFail` and
/// `webSocketDidClose`. Their object is the socket, and their `userInfo` has the keys of ``Key``. They are posted in the order of the
/// events, on one queue, and none is posted after `webSocketDidClose`. While the observers are busy, the peer waits.
public final class WebSocketNotifications: Sendable {
    /// The keys in the `userInfo` of a notification.
    public enum Key {
        /// The number of the attempt, an `Int`: in connecting, opened, and failed if another attempt follows.
        public static let attempt = "attempt"
        /// The ``Opening``: in opened.
        public static let opening = "opening"
        /// The `Message`: in received.
        public static let message = "message"
        /// The ``WebSocketError``: in failed, and in closed unless the end was normal.
        public static let error = "error"
        /// The delay until the next attempt, a `Duration`: in failed if another attempt follows.
        public static let delay = "delay"
        /// The ``Closure``: in closed.
        public static let closure = "closure"
    }
    private let relay: QueueRelay

    /// Starts to post all events from now on.
    ///
    /// - Parameters:
    ///   - socket: The socket to follow; kept alive.
    ///   - center: The notification center.
    ///   - queue: The serial queue on which to post.
    public init(_ socket: WebSocket, center: NotificationCenter = .default, queue: DispatchQueue = .main) {
        let center = Center(center: center)
        relay = QueueRelay(socket, on: queue) { event in
            for (name, userInfo) in event.notifications { center.center.post(name: name, object: socket, userInfo: userInfo) }
        }
    }

    /// SAFETY: the documentation of `NotificationCenter` allows its use from any thread.
    private struct Center: @unchecked Sendable {
        let center: NotificationCenter
    }
}

extension Notification.Name {
    /// An attempt to connect begins.
    public static let webSocketConnecting = Notification.Name("holdfast.webSocketConnecting")
    /// A connection has opened.
    public static let webSocketDidOpen = Notification.Name("holdfast.webSocketDidOpen")
    /// The peer sent a message.
    public static let webSocketDidReceive = Notification.Name("holdfast.webSocketDidReceive")
    /// The connection was lost, or an attempt failed; has a delay if another attempt follows.
    public static let webSocketDidFail = Notification.Name("holdfast.webSocketDidFail")
    /// The socket has closed for good; the last notification.
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
