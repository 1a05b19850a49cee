public import DocumentCore
public import Holdfast
public import HoldfastProtocols
import MachineCore
import ProtocolCore
import WebSocketCore
import WebSocketRuntime

/// A copy of a document on a y-websocket server: it can be edited at any time, and becomes equal to all other copies.
///
/// ```swift
/// let notes = DocumentClient("wss://example.com", document: "notes")
/// try notes.edit { document in try document.insert("Hello", at: 0, in: document.root("text", .text)) }
/// for try await event in notes.events() { … }
/// ```
/// Edits take effect at once, with or without a connection. After each reconnect both sides send what the other lacks.
///
/// The client ends with ``close()``, or when the last reference to it and to its sequences is gone.
public final class DocumentClient: Sendable {
    private let client: ProtocolClient<DocumentMachine>
    private let time: LinkTime
    /// Announced after each event.
    private let changes = Changes()
    private let task: Task<Void, Never>

    /// The socket, for the connection's state and statistics.
    public var socket: WebSocket { client.socket }

    /// Creates a client with an empty copy, and starts to connect.
    ///
    /// - Parameters:
    ///   - url: The server, without the name of a document.
    ///   - name: The name of the document, which follows the server's path.
    ///   - configure: Changes the options of the socket, for example its headers.
    public convenience init(_ url: String, document name: String, configure: (inout WebSocketOptions) -> Void = { _ in }) {
        let address = url.hasSuffix("/") ? url : url + "/"
        self.init(over: WebSocket(address + Self.escaped(name), configure))
    }

    /// Creates a client over an existing socket, whose URL names the document.
    ///
    /// Nothing else should send over it.
    ///
    /// - Parameters:
    ///   - socket: The socket; the client keeps it alive.
    ///   - document: The copy as it was stored, with a fresh identity; by default an empty one.
    ///   - clock: The clock for all delays.
    public init<C: Clock>(
        over socket: WebSocket, document: SharedDocument = SharedDocument(client: UInt64(UInt32.random(in: 1 ... .max))),
        clock: C = ContinuousClock()
    ) where C.Duration == Duration {
        let machine = DocumentMachine(document, seed: .random(in: 0 ... .max))
        client = ProtocolClient(machine, over: socket, clock: clock) { _ throws(ConnectionEnd) in DocumentCoding() }
        time = LinkTime(clock)
        let events = client.events(delivery: .latest)
        // SAFETY: owned by this object and cancelled with it.
        task = Task { [changes] in
            do throws(WebSocketError) { for try await _ in events { changes.announce() } } catch {}
            changes.announce()
        }
    }

    deinit { task.cancel() }

    // MARK: - The document

    /// Edits the document, and sends the update as soon as there is a connection.
    ///
    /// The edits of one call are one transaction. If the closure throws, what it did before takes effect all the same.
    ///
    /// - Parameter body: Edits the document. It runs at once and alone, so it must be quick and must not call this client.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws.
    @discardableResult public func edit<Value: Sendable>(
        _ body: @escaping @Sendable (inout SharedDocument) throws -> Value
    ) throws -> Value {
        let outcome = LockedValue<Result<Value, any Error>?>(nil)
        client.perform(
            .edit { document in
                let result = Result { try body(&document) }
                outcome.withLockedValue { $0 = result }
            })
        // A client that is closed takes no commands.
        guard let result = outcome.withLockedValue({ $0 }) else { throw Self.closed }
        return try result.get()
    }

    /// Reads the document as it is now.
    ///
    /// - Parameter body: Reads it. It must be quick and must not call this client.
    public func read<Value>(_ body: (SharedDocument) -> Value) -> Value { client.read { body($0.document) } }

    /// How far this copy is from the server's.
    public var status: DocumentMachine.Status { client.read { $0.status } }

    /// Returns what happens from now on: changes of the document, the presence of others, and the status.
    ///
    /// - Parameter delivery: What happens to events that arrive while the consumer is busy. With `everyMessage(capacity:)` the client stops
    ///   reading while the buffer is full.
    public func events(
        delivery: StreamDelivery<DocumentMachine.Event> = .everyMessage()
    ) -> ProtocolEvents<DocumentMachine.Event> { client.events(delivery: delivery) }

    // MARK: - Presence

    /// Shows a state to the others, such as a name, a colour and a caret; nil to leave.
    public func present(_ state: DocumentValue?) { client.perform(.present(state)) }

    /// The states of all clients that are here, this one included.
    public var presence: [UInt64: DocumentValue] { client.read { $0.awareness.states } }

    // MARK: - Waiting

    /// Waits until this copy has what the server has.
    ///
    /// - Parameter patience: The time limit; nil: no limit.
    /// - Throws: `timedOut`, the error of the socket if it ended, or `cancelled`.
    public func synced(within patience: Duration? = nil) async throws(WebSocketError) {
        try await wait(within: patience, "the document was not synced in time") { $0.isSynced }
    }

    /// Waits until the server has all edits of this copy.
    ///
    /// - Parameter patience: The time limit; nil: no limit.
    /// - Throws: `timedOut`, the error of the socket if it ended, or `cancelled`.
    public func saved(within patience: Duration? = nil) async throws(WebSocketError) {
        try await wait(within: patience, "the edits were not saved in time") { $0.isSaved }
    }

    private func wait(
        within patience: Duration?, _ failure: String, _ isDone: @Sendable (DocumentMachine.Status) -> Bool
    ) async throws(WebSocketError) {
        let limit = patience.map { time.now() + $0 }
        let done = try await changes.first(until: limit, on: time) { () throws(WebSocketError) -> Bool? in
            if isDone(status) { return true }
            if case .closed(let error) = client.state { throw error ?? Self.closed }
            return nil
        }
        if done == true { return }
        throw WebSocketError(Task.isCancelled ? TransportError(.cancelled, "the wait was cancelled") : TransportError(.timedOut, failure))
    }

    private static var closed: WebSocketError { WebSocketError(TransportError(.closed, "the client is closed")) }

    /// Closes the connection for good; returns when that is done.
    ///
    /// Edits that are not saved stay in the copy: call ``saved(within:)`` first.
    public func close() async { await client.close() }

    /// A name as a part of a path (RFC 3986 §3.3).
    private static func escaped(_ name: String) -> String {
        name.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}

/// The messages of y-websocket in binary WebSocket messages.
private struct DocumentCoding: ProtocolCoding {
    func decode(_ message: Message) throws -> [DocumentMessage]? {
        switch message {
        case .binary(let bytes): try DocumentMessage.messages([UInt8](bytes))
        // The protocol has no texts. Some servers send one as a sign of life.
        case .text: nil
        }
    }

    func encode(_ message: DocumentMessage) throws -> Message { .binary(message.bytes ?? []) }
}
