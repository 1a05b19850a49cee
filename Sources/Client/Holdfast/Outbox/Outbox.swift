public import Foundation
public import SessionCore
public import WebSocketCore

/// Messages that are kept until the server acknowledges them: what ``WebSocket/outbox(of:in:policy:acknowledgement:)`` gives.
///
/// A message is sent as soon as it is kept and there is a connection, again after each loss, and again when its acknowledgement takes
/// too long; so it may reach the server more than once, and the server should know a message by its id. Messages leave in the order
/// in which they were added.
///
/// It keeps its socket alive. When it is released nothing more is sent; what is in a file is there for the next outbox.
public final class Outbox<ID: Codable & Hashable & Sendable>: Sendable {
    private let socket: WebSocket
    private let line: OutboxLine<ID>

    init(_ socket: WebSocket, _ line: OutboxLine<ID>) { (self.socket, self.line) = (socket, line) }

    deinit { line.stop() }

    /// Keeps a message and sends it until it is acknowledged; returns when it is kept, in a file on the disk.
    ///
    /// - Parameters:
    ///   - message: What to send.
    ///   - id: What the server's acknowledgement names; no other message that waits may have it. Do not use it for a later message either:
    ///     the server may acknowledge the earlier one twice.
    /// - Throws: ``OutboxError``, and the message was not taken: ``OutboxError/full`` beyond the capacity, ``OutboxError/duplicate``,
    ///   ``OutboxError/closed`` once the socket is closed, ``OutboxError/codec(_:)``, ``OutboxError/storage(_:)``.
    public func send(_ message: Message, id: ID) async throws(OutboxError) { try await line.add(id, message) }

    /// Keeps and sends a text message; otherwise as ``send(_:id:)-(Message,_)``.
    public func send(_ text: some StringProtocol, id: ID) async throws(OutboxError) { try await send(.text(String(text)), id: id) }

    /// Keeps and sends a binary message; otherwise as ``send(_:id:)-(Message,_)``.
    public func send(_ data: Data, id: ID) async throws(OutboxError) { try await send(.binary(data), id: id) }

    /// Keeps and sends what ``WebSocketOptions/codec`` makes of a value; otherwise as ``send(_:id:)-(Message,_)``.
    public func send<Value: Encodable>(value: Value, id: ID) async throws(OutboxError) {
        let message: Message
        do throws(WebSocketError) { message = try socket.encode(value) } catch { throw .codec("\(error)") }
        try await send(message, id: id)
    }

    /// Keeps and sends what ``WebSocketOptions/codec`` makes of a value, under its own id; otherwise as ``send(_:id:)-(Message,_)``.
    public func send<Value: Encodable & Identifiable>(value: Value) async throws(OutboxError) where Value.ID == ID {
        try await send(value: value, id: value.id)
    }

    /// Takes a message back.
    ///
    /// The file learns of it a moment later: if the process ends before that, the next run sends the message.
    ///
    /// - Returns: Whether it was still here. If it was sent before, the server may have it nevertheless.
    @discardableResult public func withdraw(_ id: ID) -> Bool { line.withdraw(id) }

    /// Waits until a message is over.
    ///
    /// - Returns: How it ended; nil if there is no such message, if the task is cancelled, or once the socket is closed. Of the last
    ///   1,024 messages that are over it is known how they ended.
    public func outcome(of id: ID) async -> OutboxOutcome? { await line.outcome(of: id) }

    /// The messages that are not acknowledged, in order, with those that an earlier run of the app left in the file.
    public var waiting: [OutboxMessage<ID>] { line.waiting }

    /// The messages that are not acknowledged: now, and whenever they are others.
    ///
    /// A slow consumer misses what was between. Ends when the task is cancelled, and when the socket is closed.
    public var updates: OutboxUpdates<ID> { OutboxUpdates(outbox: self, line: line) }

    /// Waits until all messages are over.
    ///
    /// - Parameter limit: How long to wait; nil: as long as it takes.
    /// - Returns: False if that took too long, the socket was closed, or the task was cancelled; nothing is lost by that.
    @discardableResult public func flush(within limit: Duration? = nil) async -> Bool { await line.flush(within: limit) }
}

/// A message that waits in an ``Outbox``.
public struct OutboxMessage<ID: Codable & Hashable & Sendable>: Hashable, Sendable, Identifiable {
    /// What the server's acknowledgement names.
    public let id: ID
    /// What is sent.
    public let message: Message
}

/// The messages that wait in an ``Outbox``, whenever they are others.
public struct OutboxUpdates<ID: Codable & Hashable & Sendable>: AsyncSequence, Sendable {
    let outbox: Outbox<ID>
    let line: OutboxLine<ID>

    /// Gives what waits, one state after another.
    public struct Iterator: AsyncIteratorProtocol {
        let updates: OutboxUpdates
        var version: UInt64?

        /// What waits now, the first time; then what waits when that has changed.
        public mutating func next() async -> [OutboxMessage<ID>]? {
            let line = updates.line
            if let version { await line.news.next(after: version) }
            version = line.news.version
            return line.isClosed || Task.isCancelled ? nil : line.waiting
        }
    }

    /// Begins with what waits now.
    public func makeAsyncIterator() -> Iterator { Iterator(updates: self) }
}

/// Where an ``Outbox`` keeps its messages.
public enum OutboxStorage: Hashable, Sendable {
    /// In memory: they go with the process.
    case memory
    /// In a file, which is made if there is none and which only its owner may read; beside it lies `….lock`.
    ///
    /// A file belongs to one outbox at a time. What is in it is sent again when the app is started again.
    case file(URL)
}

extension WebSocket {
    /// Keeps messages until the server acknowledges them, and sends them again until then: for a server of your own.
    ///
    /// ```swift
    /// struct Ack: Decodable { let ack: UUID }
    /// let outbox = try await socket.outbox(of: UUID.self, in: .file(url)) { message in
    ///     (try? JSONCodec().decode(Ack.self, from: message)).map { .acknowledged($0.ack) }
    /// }
    /// try await outbox.send(value: line, id: line.id)
    /// ```
    /// What it takes for an answer is among ``events``, and neither among ``messages`` nor in a typed stream.
    ///
    /// - Parameters:
    ///   - type: What messages are known by, to both sides.
    ///   - storage: Where messages are kept; by default in memory.
    ///   - policy: How much is kept, and when it is sent again.
    ///   - acknowledgement: What a message from the server says of those that were sent; nil for all others. Called for each message.
    /// - Throws: ``OutboxError`` if the file cannot be used: ``OutboxError/inUse(_:)``, ``OutboxError/damaged(_:line:)``,
    ///   ``OutboxError/storage(_:)``.
    public func outbox<ID: Codable & Hashable & Sendable>(
        of type: ID.Type = ID.self, in storage: OutboxStorage = .memory, policy: OutboxPolicy = OutboxPolicy(),
        acknowledgement: @escaping @Sendable (Message) -> OutboxAnswer<ID>?
    ) async throws(OutboxError) -> Outbox<ID> {
        switch storage {
        case .memory: return Outbox(self, OutboxLine(self, policy, nil, [], acknowledgement))
        case .file(let url):
            let file = try OutboxFile<ID>(url.path)
            return Outbox(self, OutboxLine(self, policy, file, try await file.load(), acknowledgement))
        }
    }
}

/// Why an outbox cannot be opened, or does not take a message.
public enum OutboxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// As many messages wait as `OutboxPolicy.capacity` allows, or as many bytes.
    case full
    /// A message with this id waits already.
    case duplicate
    /// The socket is closed for good.
    case closed
    /// Another outbox has the file open, in this process or in another one.
    case inUse(String)
    /// The file is damaged at this line, counted from 1, or is not one of an outbox; it is left as it is.
    case damaged(String, line: Int)
    /// The message or its id cannot be encoded; text says why.
    case codec(String)
    /// The file cannot be read or written, as the system says; the message was not taken.
    case storage(String)

    /// What happened, and what helps.
    public var description: String {
        switch self {
        case .full: "the outbox is full: wait until the server has acknowledged some messages, or raise its capacity"
        case .duplicate: "a message with this id waits in the outbox already"
        case .closed: "the socket is closed"
        case .inUse(let path): "\(path) is open in another outbox: a file belongs to one outbox at a time"
        case .damaged(let path, let line): "line \(line) of \(path) is damaged, or the file is not one of an outbox"
        case .codec(let reason): "the message cannot be encoded: \(reason)"
        case .storage(let reason): "the file of the outbox cannot be used: \(reason)"
        }
    }
}
