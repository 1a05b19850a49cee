public import Holdfast
public import ProtocolCore
import WebSocketRuntime

/// A weak reference to the socket of a protocol, which belongs to the app and may end first; also ends its connections.
@usableFromInline package final class SocketReference: Sendable {
    private struct Weak {
        weak var socket: WebSocket?
    }
    private let reference: LockedValue<Weak>
    private struct Orders {
        /// Whether the rules want a connection: what they said last.
        var wantsConnection = true
        /// The last of the orders that must be carried out one after the other.
        var last: Task<Void, Never>?
    }
    private let orders = LockedValue(Orders())

    @usableFromInline package init(_ socket: WebSocket) {
        reference = LockedValue(Weak(socket: socket))
        socket.countProtocol(1)
    }

    deinit { socket?.countProtocol(-1) }

    package var socket: WebSocket? { reference.withLockedValue { $0.socket } }

    /// Tells the socket that the protocol is ready on a connection.
    @usableFromInline package func noteReady(_ connection: WebSocketConnection) {
        guard let socket else { return }
        // SAFETY: one short step of the socket, which waits for nothing.
        Task { await socket.noteReady(connection) }
    }

    /// Ends a connection without waiting for it.
    ///
    /// - Parameter connection: The present connection; nil if there is none.
    @usableFromInline package func end(_ end: ConnectionEnd, _ connection: WebSocketConnection?) {
        let socket = socket
        // SAFETY: each task ends with the close handshake, which has a deadline, or with the connection.
        switch end {
        case .cut: connection?.abort()
        case .close(let code, let reason):
            guard let connection else { return }
            Task { await connection.close(code: code, reason: reason) }
        case .reconnect(let pause, let code, let reason):
            guard let connection else { return }
            guard let socket else { return connection.abort() }
            Task { await socket.reconnect(connection, after: pause, code: code, reason: reason) }
        case .reject(let code, let reason):
            guard let connection else { return }
            guard let socket else { return connection.abort() }
            Task { await socket.reject(connection, code: code, reason: reason) }
        case .disconnect:
            // Orders come from several threads, so a later `connect` may have been carried out before this.
            order { reference, socket in
                await socket.disconnect()
                if reference.wantsConnection { await socket.connect() }
            }
        case .stop:
            guard let socket else { return }
            Task { await socket.close() }
        }
    }

    /// Connects after a `disconnect`, if the rules still want that.
    @usableFromInline package func connect() {
        order { reference, socket in if reference.wantsConnection { await socket.connect() } }
    }

    /// Whether the rules want a connection.
    ///
    /// Set this in the order of their effects, and then give the order.
    @usableFromInline package var wantsConnection: Bool {
        get { orders.withLockedValue { $0.wantsConnection } }
        set { orders.withLockedValue { $0.wantsConnection = newValue } }
    }

    /// Starts an order after the one before has ended.
    private func order(_ body: @escaping @Sendable (SocketReference, WebSocket) async -> Void) {
        orders.withLockedValue { orders in
            // SAFETY: ends with the close handshake, which has a deadline.
            orders.last = Task { [weak self, before = orders.last] in
                await before?.value
                if let self, let socket = self.socket { await body(self, socket) }
            }
        }
    }
}

extension ConnectionEnd {
    /// Whether the socket is ended, too, so that this has an effect without a connection.
    @usableFromInline package var endsSocket: Bool { self == .stop || self == .disconnect }
    /// The reason, if the end has one.
    @usableFromInline package var complaint: String? {
        switch self {
        case .cut(let reason), .close(_, let reason), .reconnect(_, _, let reason), .reject(_, let reason): reason
        case .stop, .disconnect: nil
        }
    }
}
