public import CodecCore
public import Foundation
public import SessionCore
public import WebSocketCore
import WebSocketRuntime

/// What is sent: text as text, bytes as bytes, and values through a codec where that is said.
extension WebSocket {
    /// Sends a message, on the present connection if it takes it at once; otherwise ``WebSocketOptions/sending`` says what becomes of it.
    ///
    /// By default this returns when a connection took the message, and waits for one while there is none; under a policy that queues it
    /// also returns when the message has its place in the queue. Messages of one lane leave in the order in which they were
    /// sent. What a connection took and could not write before it was lost is not sent again: ``send(tracked:lane:timeout:)`` tells.
    ///
    /// - Parameters:
    ///   - message: What to send.
    ///   - lane: What waits in a higher lane goes first.
    ///   - timeout: How long it may wait for a connection to take it; nil: as long as the policy says.
    /// - Throws: ``WebSocketError`` if the message never left: ``TransportError/Code/timedOut`` if no connection took it in time,
    ///   ``TransportError/Code/closed`` once the socket is closed, ``TransportError/Code/cancelled`` if the task was cancelled while it
    ///   waited, and by policy ``TransportError/Code/disconnected``, ``TransportError/Code/queueFull``,
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

    /// Sends a value as the message that ``WebSocketOptions/codec`` makes of it; otherwise as ``send(_:lane:timeout:)-(Message,_,_)``.
    ///
    /// A string is encoded, too: in JSON it gets quotes. To send it as it is, leave the label out.
    ///
    /// - Throws: ``WebSocketError`` as for a message; ``TransportError/Code/codec`` if the value cannot be encoded.
    public func send<Value: Encodable>(value: Value, lane: Lane = .normal, timeout: Duration? = nil) async throws(WebSocketError) {
        try await send(encode(value), lane: lane, timeout: timeout)
    }

    /// Sends a literal as a text message of JSON, whatever the codec; otherwise as ``send(_:lane:timeout:)-(Message,_,_)``.
    ///
    /// ```swift
    /// try await socket.send(json: ["type": "hello", "n": 1])
    /// ```
    /// - Throws: ``WebSocketError`` as for a message; ``TransportError/Code/codec`` for what JSON cannot say, such as infinity.
    public func send(json literal: CodecCore.Value, lane: Lane = .normal, timeout: Duration? = nil) async throws(WebSocketError) {
        let bytes: [UInt8]
        do throws(CodecError) { bytes = try literal.json() } catch {
            throw WebSocketError(TransportError(.codec, "the literal could not be encoded: \(error)", underlying: error))
        }
        try await send(.text(String(decoding: bytes, as: UTF8.self)), lane: lane, timeout: timeout)
    }

    /// Sends a message and gives a receipt; otherwise as ``send(_:lane:timeout:)-(Message,_,_)``.
    ///
    /// Who does not ask the receipt pays nothing for it.
    ///
    /// - Returns: What tells of the message's end; see ``SendReceipt/fate()``.
    public func send(
        tracked message: Message, lane: Lane = .normal, timeout: Duration? = nil
    ) async throws(WebSocketError) -> SendReceipt {
        if let receipt = session.desk.offer(message) { return receipt }
        return try await session.send(message, lane, patience: timeout)
    }

    /// How much waits to be sent because no connection takes it: not what a connection has taken and not yet written.
    public var sendQueueDepth: SendVolume { session.desk.depth }

    /// How many messages were dropped so far: each is told as ``WebSocketEvent/dropped(_:)``.
    ///
    /// Those are messages that gave way, or found no room, and those that were refused after `send` had returned. Of
    /// many that nobody has taken the older are told as ``WebSocketEvent/missed(_:)``.
    public var droppedSends: UInt64 { session.desk.dropped }
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
    /// A binary message with these bytes.
    public static func binary(_ data: Data) -> Message { .binary([UInt8](data)) }
}

extension WebSocket {
    /// Sends a ping on the present connection and waits for its pong; returns the round trip time.
    ///
    /// The heartbeat asks by itself; this is for whoever wants to know.
    ///
    /// - Parameter timeout: How long to wait once the ping has left; nil: ``WebSocketTimeouts/ping``.
    /// - Throws: ``WebSocketError``, at once with ``TransportError/Code/unreachable`` if there is no connection now, and with
    ///   ``TransportError/Code/closed`` once the socket is closed; ``TransportError/Code/timedOut`` if no pong came: the connection
    ///   lives on.
    public func ping(timeout: Duration? = nil) async throws(WebSocketError) -> Duration { try await session.ping(timeout: timeout) }
}

/// What a ``WebSocket`` gives for a message: who keeps it learns what became of that.
public struct SendReceipt: Sendable {
    enum Course: Sendable {
        /// A connection has taken it; without a serial it is over.
        case taken(WriteTrail, serial: UInt64?)
        /// It waits, or waited.
        case queued(SendTicket)
    }
    private let course: Course

    init(_ course: Course) { self.course = course }

    /// Waits for the end of the send: the socket took every byte of it, it never left, or nobody knows.
    ///
    /// Every send ends, at the latest with its socket. Nothing is asked of the network: that the socket took it does not say that the peer
    /// has it. What was sent before anybody asked for a fate on its connection, and was not asked about before that connection ended,
    /// is `unknown`; so ask early if you want to know. If the task is cancelled this is `unknown` at once, nothing is lost,
    /// and you may ask again.
    public func fate() async -> SendFate {
        switch course {
        case .taken(let trail, let serial): await Self.fate(on: trail, serial)
        case .queued(let ticket):
            switch await ticket.end() {
            case .taken(let trail, let serial): await Self.fate(on: trail, serial)
            case .refused(let reason): .refused(reason)
            case nil: .unknown
            }
        }
    }

    private static func fate(on trail: WriteTrail, _ serial: UInt64?) async -> SendFate {
        guard let serial else { return .unknown }
        return await trail.fate(of: serial) ?? .unknown
    }
}
