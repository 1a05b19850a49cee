public import Foundation
public import SessionCore
public import WebSocketCore

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
