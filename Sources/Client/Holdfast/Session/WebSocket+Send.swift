public import CodecCore
public import Foundation
public import SessionCore
public import WebSocketCore
import WebSocketRuntime

/// Sending: text as text, bytes as bytes, and values through a codec with the label `value`.
extension WebSocket {
    /// Sends a message over the present connection; if that is not possible at once, ``WebSocketOptions/sending`` decides.
    ///
    /// By default this returns when a connection has taken the message, and waits while there is no connection. With a policy that queues,
    /// it also returns when the message is in the queue. Messages of one lane are sent in the order of the calls. If a connection
    /// is lost before it could write a message that it took, the message is not sent again; ``send(tracked:lane:timeout:)`` reports that.
    ///
    /// - Parameters:
    ///   - message: What to send.
    ///   - lane: The priority: waiting messages of a higher lane go first.
    ///   - timeout: How long the message may wait until a connection takes it; nil: as long as the policy says.
    /// - Throws: ``WebSocketError`` if the message was not sent: ``TransportError/Code/timedOut`` if no connection took it in time,
    ///   ``TransportError/Code/closed`` if the socket is closed, ``TransportError/Code/cancelled`` if the task was cancelled while the
    ///   message waited, and depending on the policy ``TransportError/Code/disconnected``, ``TransportError/Code/queueFull``,
    ///   ``TransportError/Code/tooLarge`` or ``TransportError/Code/dropped``.
    public func send(_ message: Message, lane: Lane = .normal, timeout: Duration? = nil) async throws(WebSocketError) {
        _ = try await send(tracked: message, lane: lane, timeout: timeout)
    }

    /// Sends a text message; otherwise as ``send(_:lane:timeout:)-(Message,_,_)``.
    public func send(_ text: some StringProtocol, lane: Lane = .normal, timeout: Duration? = nil) async throws(WebSocketError) {
        try await send(.text(String(text)), lane: lane, timeout: timeout)
    }

    /// Sends a binary message; otherwise as ``send(_:lane:timeout:)-(Message,_,_)``.
    public func send(_ data: Data, lane: Lane = .normal, timeout: Duration? = nil) async throws(WebSocketError) {
        try await send(.binary(data), lane: lane, timeout: timeout)
    }

    /// Sends a binary message; otherwise as ``send(_:lane:timeout:)-(Message,_,_)``.
    public func send(_ bytes: [UInt8], lane: Lane = .normal, timeout: Duration? = nil) async throws(WebSocketError) {
        try await send(.binary(bytes), lane: lane, timeout: timeout)
    }

    /// Sends a value that ``WebSocketOptions/codec`` encodes as a message; otherwise as ``send(_:lane:timeout:)-(Message,_,_)``.
    ///
    /// A string is encoded, too: in JSON it gets quotes. To send it unchanged, omit the label.
    ///
    /// - Throws: ``WebSocketError`` as for a message; ``TransportError/Code/codec`` if the value cannot be encoded.
    public func send<Value: Encodable>(value: Value, lane: Lane = .normal, timeout: Duration? = nil) async throws(WebSocketError) {
        try await send(encode(value), lane: lane, timeout: timeout)
    }

    /// Sends a literal as a JSON text message, whatever the codec is; otherwise as ``send(_:lane:timeout:)-(Message,_,_)``.
    ///
    /// ```swift
    /// try await socket.send(json: ["type": "hello", "n": 1])
    /// ```
    /// - Throws: ``WebSocketError`` as for a message; ``TransportError/Code/codec`` for values that JSON cannot express, such as infinity.
    public func send(json literal: CodecCore.Value, lane: Lane = .normal, timeout: Duration? = nil) async throws(WebSocketError) {
        let bytes: [UInt8]
        do throws(CodecError) { bytes = try literal.json() } catch {
            throw WebSocketError(TransportError(.codec, "the literal could not be encoded: \(error)", underlying: error))
        }
        try await send(.text(String(decoding: bytes, as: UTF8.self)), lane: lane, timeout: timeout)
    }

    /// Sends a message and returns a receipt; otherwise as ``send(_:lane:timeout:)-(Message,_,_)``.
    ///
    /// A receipt costs nothing unless you ask it.
    ///
    /// - Returns: A receipt that reports the outcome of the message; see ``SendReceipt/outcome()``.
    public func send(
        tracked message: Message, lane: Lane = .normal, timeout: Duration? = nil
    ) async throws(WebSocketError) -> SendReceipt {
        if let receipt = session.sendDriver.offer(message) { return receipt }
        return try await session.send(message, lane, patience: timeout)
    }

    /// The number and size of the messages that wait for a connection; does not count what a connection has taken but not yet written.
    public var sendQueueDepth: SendVolume { session.sendDriver.depth }

    /// The number of messages dropped so far; each is reported as ``WebSocketEvent/dropped(_:)``.
    ///
    /// A message is dropped if it gives way to others, finds no room in the queue, or is refused after `send` has returned. If
    /// the app does not take these events, the older ones are summed up as ``WebSocketEvent/missed(_:)``.
    public var droppedSends: UInt64 { session.sendDriver.dropped }
}

extension WebSocketConnection {
    /// Sends a text message; otherwise as ``send(_:)-(Message)``.
    public func send(_ text: some StringProtocol) async throws(WebSocketError) { try await send(.text(String(text))) }

    /// Sends a binary message; otherwise as ``send(_:)-(Message)``.
    public func send(_ data: Data) async throws(WebSocketError) { try await send(.binary(data)) }

    /// Sends a binary message; otherwise as ``send(_:)-(Message)``.
    public func send(_ bytes: [UInt8]) async throws(WebSocketError) { try await send(.binary(bytes)) }
}

extension Message {
    /// Returns a binary message with these bytes.
    public static func binary(_ data: Data) -> Message { .binary([UInt8](data)) }
}

extension WebSocket {
    /// Sends a ping on the present connection, waits for its pong, and returns the round-trip time.
    ///
    /// The heartbeat sends pings by itself; use this to measure the round-trip time.
    ///
    /// - Parameter timeout: How long to wait once the ping has been sent; nil: ``WebSocketTimeouts/ping``.
    /// - Throws: ``WebSocketError``: at once ``TransportError/Code/unreachable`` if there is no connection,
    ///   ``TransportError/Code/closed`` if the socket is closed, ``TransportError/Code/timedOut`` if no pong came, which does not end the
    ///   connection.
    public func ping(timeout: Duration? = nil) async throws(WebSocketError) -> Duration { try await session.ping(timeout: timeout) }
}

/// The receipt of a sent message; it reports the outcome of the message.
public struct SendReceipt: Sendable {
    enum Course: Sendable {
        /// A connection has taken it; without a serial the connection had already ended.
        case taken(WriteTrail, serial: UInt64?)
        /// It waits in the queue, or waited there.
        case queued(SendTicket)
    }
    private let course: Course

    init(_ course: Course) { self.course = course }

    /// Waits for the outcome of the send: written to the socket, never sent, or unknown.
    ///
    /// Every send has an outcome, at the latest when its socket ends. "Written" means that the local socket took all bytes; it does not mean
    /// that the peer has received them. The outcome is `unknown` if the message was sent before the first call of this method on its
    /// connection, and the connection ended before this call; so ask early if you need the outcome. If the task is cancelled, this
    /// returns `unknown` at once; nothing is lost, and you may ask again.
    public func outcome() async -> SendOutcome {
        switch course {
        case .taken(let trail, let serial): await Self.outcome(on: trail, serial)
        case .queued(let ticket):
            switch await ticket.end() {
            case .taken(let trail, let serial): await Self.outcome(on: trail, serial)
            case .refused(let reason): .refused(reason)
            case nil: .unknown
            }
        }
    }

    private static func outcome(on trail: WriteTrail, _ serial: UInt64?) async -> SendOutcome {
        guard let serial else { return .unknown }
        return await trail.outcome(of: serial) ?? .unknown
    }
}
