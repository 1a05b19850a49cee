public import Dispatch
public import Foundation
public import WebSocketCore

/// Hears what happens to a ``WebSocket``, for code that is not async; see ``WebSocketDelegateAdapter``.
///
/// All methods do nothing by default. They are called on one queue, one at a time and in the order of the events; nothing is called
/// after ``webSocket(_:didClose:)``.
public protocol WebSocketDelegate: AnyObject {
    /// A connection is open; the first one, or one after a loss.
    func webSocket(_ socket: WebSocket, didOpen opening: Opening)
    /// The peer sent a message.
    func webSocket(_ socket: WebSocket, didReceive message: Message)
    /// The connection was lost, or an attempt at one failed: the next attempt starts after `delay`.
    func webSocket(_ socket: WebSocket, willReconnectAs attempt: Int, after delay: Duration, because cause: WebSocketError)
    /// It does something else now.
    func webSocket(_ socket: WebSocket, didChangeTo state: WebSocketState)
    /// Something else happened, of which most delegates need not know.
    func webSocket(_ socket: WebSocket, didMeet event: WebSocketEvent)
    /// Over for good.
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

    func hear(of event: WebSocketEvent, from socket: WebSocket) {
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

/// Tells a delegate what happens to a socket, for as long as this object is kept.
///
/// It is one more consumer of ``WebSocket/events``, which suspends: while the delegate is busy, the peer waits. The socket is kept
/// alive, the delegate is not. After its release on the delegate's queue nothing more is called; on another, what is being called ends.
public final class WebSocketDelegateAdapter: Sendable {
    private let relay: QueueRelay

    /// Tells everything from now on.
    ///
    /// - Parameters:
    ///   - socket: What to follow.
    ///   - delegate: Whom to tell; held weakly.
    ///   - queue: Where its methods are called; a serial one.
    public init(_ socket: WebSocket, delegate: any WebSocketDelegate, queue: DispatchQueue = .main) {
        let listener = Listener(delegate)
        relay = QueueRelay(socket, on: queue) { event in listener.delegate?.hear(of: event, from: socket) }
    }

    /// SAFETY: set once, and read on the delegate's queue only.
    private final class Listener: @unchecked Sendable {
        private(set) weak var delegate: (any WebSocketDelegate)?

        init(_ delegate: any WebSocketDelegate) { self.delegate = delegate }
    }
}

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
