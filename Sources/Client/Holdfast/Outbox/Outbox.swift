public import Foundation
public import SessionCore
public import WebSocketCore

/// A queue of messages that are kept until the server acknowledges them; see ``WebSocket/outbox(of:in:policy:acknowledgement:)``.
///
/// The outbox sends a message as soon as it is stored and there is a connection. It sends it again after each loss, and again when the
/// acknowledgement takes too long. So a message may reach the server more than once, and the server should recognize it by its id. Messages
/// are sent in the order in which they were added.
///
/// The outbox keeps its socket alive. After its release nothing more is sent; a later outbox can send what is in the file.
public final class Outbox<ID: Codable & Hashable & Sendable>: Sendable {
    private let socket: WebSocket
    private let driver: OutboxDriver<ID>

    init(_ socket: WebSocket, _ driver: OutboxDriver<ID>) { (self.socket, self.driver) = (socket, driver) }

    deinit { driver.stop() }

    /// Stores a message and sends it until it is acknowledged; returns when it is stored, for a file when it is on disk.
    ///
    /// - Parameters:
    ///   - message: The message to send.
    ///   - id: The id that the server's acknowledgement names; it must differ from the ids of all waiting messages. Do not use it for a later
    ///     message either, because the server may acknowledge the earlier one twice.
    /// - Throws: ``OutboxError`` if the message was not taken: ``OutboxError/full`` beyond the capacity, ``OutboxError/duplicate``,
    ///   ``OutboxError/closed`` once the socket is closed, ``OutboxError/codec(_:)``, ``OutboxError/storage(_:)``.
    public func send(_ message: Message, id: ID) async throws(OutboxError) { try await driver.add(id, message) }

    /// Stores and sends a text message; otherwise as ``send(_:id:)-(Message,_)``.
    public func send(_ text: some StringProtocol, id: ID) async throws(OutboxError) { try await send(.text(String(text)), id: id) }

    /// Stores and sends a binary message; otherwise as ``send(_:id:)-(Message,_)``.
    public func send(_ data: Data, id: ID) async throws(OutboxError) { try await send(.binary(data), id: id) }

    /// Stores and sends a value encoded by ``WebSocketOptions/codec``; otherwise as ``send(_:id:)-(Message,_)``.
    public func send<Value: Encodable>(value: Value, id: ID) async throws(OutboxError) {
        let message: Message
        do throws(WebSocketError) { message = try socket.encode(value) } catch { throw .codec("\(error)") }
        try await send(message, id: id)
    }

    /// Stores and sends a value encoded by ``WebSocketOptions/codec`` under its own id; otherwise as ``send(_:id:)-(Message,_)``.
    public func send<Value: Encodable & Identifiable>(value: Value) async throws(OutboxError) where Value.ID == ID {
        try await send(value: value, id: value.id)
    }

    /// Withdraws a message.
    ///
    /// The file is updated a moment later. If the process ends before that, the next run sends the message.
    ///
    /// - Returns: Whether the message was still waiting. If it was sent before, the server may have it nevertheless.
    @discardableResult public func withdraw(_ id: ID) -> Bool { driver.withdraw(id) }

    /// Waits for the outcome of a message.
    ///
    /// - Returns: The outcome; nil if there is no such message, if the task is cancelled, or once the socket is closed. The outbox
    ///   remembers the outcomes of the last 1,024 finished messages.
    public func outcome(of id: ID) async -> OutboxOutcome? { await driver.outcome(of: id) }

    /// The messages that are not acknowledged, in order, including those that an earlier run of the app left in the file.
    public var waiting: [OutboxMessage<ID>] { driver.waiting }

    /// The messages that are not acknowledged: first the present ones, then the new list after each change.
    ///
    /// A slow consumer misses lists in between. The sequence ends when the task is cancelled, and when the socket is closed.
    public var updates: OutboxUpdates<ID> { OutboxUpdates(outbox: self, driver: driver) }

    /// Waits until no message is waiting.
    ///
    /// - Parameter limit: The time limit; nil: no limit.
    /// - Returns: False after the time limit, a close of the socket or a cancellation; no message is lost by that.
    @discardableResult public func flush(within limit: Duration? = nil) async -> Bool { await driver.flush(within: limit) }
}

/// A message that waits in an ``Outbox``.
public struct OutboxMessage<ID: Codable & Hashable & Sendable>: Hashable, Sendable, Identifiable {
    /// The id that the server's acknowledgement names.
    public let id: ID
    /// The message to send.
    public let message: Message
}

/// The messages that wait in an ``Outbox``, after each change.
public struct OutboxUpdates<ID: Codable & Hashable & Sendable>: AsyncSequence, Sendable {
    let outbox: Outbox<ID>
    let driver: OutboxDriver<ID>

    /// Iterates over the lists of waiting messages.
    public struct Iterator: AsyncIteratorProtocol {
        let updates: OutboxUpdates
        var version: UInt64?

        /// Returns the waiting messages: the first time at once, then after each change.
        public mutating func next() async -> [OutboxMessage<ID>]? {
            let driver = updates.driver
            if let version { await driver.news.next(after: version) }
            version = driver.news.version
            return driver.isClosed || Task.isCancelled ? nil : driver.waiting
        }
    }

    /// Starts with the present list.
    public func makeAsyncIterator() -> Iterator { Iterator(updates: self) }
}

/// The storage of the messages of an ``Outbox``.
public enum OutboxStorage: Hashable, Sendable {
    /// In memory: the messages are lost when the process ends.
    case memory
    /// In a file, which is created if necessary and which only its owner may read; a lock file `….lock` lies beside it.
    ///
    /// Only one outbox at a time may use a file. Messages in the file are sent again after the app is restarted.
    case file(URL)
}

extension WebSocket {
    /// Creates an outbox that keeps messages and resends them until the server acknowledges them; needs support by your server.
    ///
    /// ```swift
    /// struct Ack: Decodable { let ack: UUID }
    /// let outbox = try await socket.outbox(of: UUID.self, in: .file(url)) { message in
    ///     (try? JSONCodec().decode(Ack.self, from: message)).map { .acknowledged($0.ack) }
    /// }
    /// try await outbox.send(value: line, id: line.id)
    /// ```
    /// Answers that `acknowledgement` recognizes appear in ``events``, but not in ``messages`` or a typed stream.
    ///
    /// - Parameters:
    ///   - type: The type of the ids by which both sides know messages.
    ///   - storage: Where messages are stored; by default in memory.
    ///   - policy: How much is stored, and when it is sent again.
    ///   - acknowledgement: Returns what a message from the server says about sent messages; nil for all others. Called for each message.
    /// - Throws: ``OutboxError`` if the file cannot be used: ``OutboxError/inUse(_:)``, ``OutboxError/damaged(_:line:)``,
    ///   ``OutboxError/storage(_:)``.
    public func outbox<ID: Codable & Hashable & Sendable>(
        of type: ID.Type = ID.self, in storage: OutboxStorage = .memory, policy: OutboxPolicy = OutboxPolicy(),
        acknowledgement: @escaping @Sendable (Message) -> OutboxAnswer<ID>?
    ) async throws(OutboxError) -> Outbox<ID> {
        switch storage {
        case .memory: return Outbox(self, OutboxDriver(self, policy, nil, [], acknowledgement))
        case .file(let url):
            let file = try OutboxFile<ID>(url.path)
            return Outbox(self, OutboxDriver(self, policy, file, try await file.load(), acknowledgement))
        }
    }
}

/// The error of an outbox that cannot be opened, or that does not take a message.
public enum OutboxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// With this message the waiting messages would exceed `OutboxPolicy.capacity`, in number or in bytes.
    case full
    /// A message with this id is already waiting.
    case duplicate
    /// The socket is closed for good.
    case closed
    /// Another outbox has the file open, in this process or in another one.
    case inUse(String)
    /// The file is damaged at this line, counted from 1, or is not the file of an outbox; it is left unchanged.
    case damaged(String, line: Int)
    /// The message or its id cannot be encoded; the text says why.
    case codec(String)
    /// The file cannot be read or written; the text is the error of the system. The message was not taken.
    case storage(String)

    /// What happened, and what to do about it.
    public var description: String {
        switch self {
        case .full: "the outbox is full: wait until the server has acknowledged some messages, or raise its capacity"
        case .duplicate: "a message with this id is already waiting in the outbox"
        case .closed: "the socket is closed"
        case .inUse(let path): "\(path) is open in another outbox: a file belongs to one outbox at a time"
        case .damaged(let path, let line): "line \(line) of \(path) is damaged, or the file does not belong to an outbox"
        case .codec(let reason): "the message cannot be encoded: \(reason)"
        case .storage(let reason): "the file of the outbox cannot be used: \(reason)"
        }
    }
}
