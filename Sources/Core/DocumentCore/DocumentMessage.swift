/// A message between a copy of a document and a server, as y-websocket and Hocuspocus send it.
///
/// Both carry the synchronization and the awareness of y-protocols. y-websocket has one document on a connection. Hocuspocus has many, so
/// each of its messages begins with the name of a document.
public enum DocumentMessage: Hashable, Sendable {
    /// A step of the synchronization.
    case sync(Sync)
    /// States of clients (``DocumentAwareness``).
    case awareness([UInt8])
    /// Asks for the states of all clients.
    case awarenessQuery
    /// Access was refused. Hocuspocus also answers a bad token with it.
    case denied(reason: String)

    /// Hocuspocus: the client's token, empty if it has none, and the version of the client.
    case token(String, version: String? = nil)
    /// Hocuspocus: asks for a fresh token.
    case tokenQuery
    /// Hocuspocus: access was granted, for reading alone or also for writing.
    case authenticated(isReadOnly: Bool)
    /// Hocuspocus: a step between servers, which is not answered with a state vector.
    case reply(Sync)
    /// Hocuspocus: a text of the app.
    case text(String)
    /// Hocuspocus: the document is closed, and the connection stays.
    case closed(reason: String)
    /// Hocuspocus: whether the server has taken an update.
    case status(isTaken: Bool)
    /// Hocuspocus: a sign of life. It belongs to no document.
    case ping
    /// Hocuspocus: the answer to a sign of life.
    case pong

    /// A step of the synchronization of y-protocols.
    public enum Sync: Hashable, Sendable {
        /// The sender's state vector, which asks for what the sender lacks.
        case stateVector([UInt8])
        /// The answer to a state vector: an update with what was missing, and all deletions.
        case missing([UInt8])
        /// An update.
        case update([UInt8])
    }

    /// The two protocols.
    ///
    /// The same number means other things in them.
    private enum Dialect { case yWebSocket, hocuspocus }

    // MARK: - y-websocket

    /// Reads a WebSocket message of y-websocket, which may hold several messages.
    ///
    /// - Throws: A ``DocumentError`` if it holds anything else.
    public static func messages(_ bytes: [UInt8]) throws(DocumentError) -> [DocumentMessage] {
        var reader = Lib0Reader(bytes), messages: [DocumentMessage] = []
        while !reader.isAtEnd {
            guard let message = try DocumentMessage(&reader, .yWebSocket) else { throw reader.failure(.malformed) }
            messages.append(message)
        }
        return messages
    }

    /// The bytes of the message for y-websocket, or nil for what only Hocuspocus has.
    public var bytes: [UInt8]? {
        var writer = Lib0Writer()
        return write(&writer, .yWebSocket) ? writer.bytes : nil
    }

    // MARK: - Hocuspocus

    /// Reads a WebSocket message of Hocuspocus: the name of its document, and what it says.
    ///
    /// The message is nil if its kind is unknown, so that a client can pass over what a newer server says. Signs of life have no name.
    ///
    /// - Throws: A ``DocumentError`` if the bytes are no message.
    public static func named(_ bytes: [UInt8]) throws(DocumentError) -> (document: String, message: DocumentMessage?) {
        // These are single bytes. A name of that length would need more.
        if bytes == [9] { return ("", .ping) }
        if bytes == [10] { return ("", .pong) }
        var reader = Lib0Reader(bytes)
        return (try reader.string(), try DocumentMessage(&reader, .hocuspocus))
    }

    /// The bytes of the message for Hocuspocus.
    public func bytes(document: String) -> [UInt8] {
        var writer = Lib0Writer()
        if self != .ping, self != .pong { writer.string(document) }
        _ = write(&writer, .hocuspocus)
        return writer.bytes
    }

    // MARK: - Coding

    private init?(_ reader: inout Lib0Reader, _ dialect: Dialect) throws(DocumentError) {
        switch (try reader.uint(), dialect) {
        case (0, _): self = .sync(try Sync(&reader))
        case (1, _): self = .awareness(try reader.byteString())
        case (2, .yWebSocket):
            guard try reader.uint() == 0 else { throw reader.failure(.malformed) }
            self = .denied(reason: try reader.string())
        case (2, .hocuspocus):
            switch try reader.uint() {
            case 0 where reader.isAtEnd: self = .tokenQuery
            case 0: self = .token(try reader.string(), version: reader.isAtEnd ? nil : try reader.string())
            case 1: self = .denied(reason: try reader.string())
            case 2: self = .authenticated(isReadOnly: try reader.string() == "readonly")
            default: throw reader.failure(.malformed)
            }
        case (3, _): self = .awarenessQuery
        case (4, .hocuspocus): self = .reply(try Sync(&reader))
        case (5, .hocuspocus): self = .text(try reader.string())
        case (7, .hocuspocus): self = .closed(reason: try reader.string())
        case (8, .hocuspocus): self = .status(isTaken: try reader.uint() == 1)
        default: return nil
        }
    }

    /// Writes the message.
    ///
    /// Returns false if the protocol has no such message.
    private func write(_ writer: inout Lib0Writer, _ dialect: Dialect) -> Bool {
        switch (self, dialect) {
        case (.sync(let step), _):
            writer.byte(0)
            step.write(&writer)
        case (.awareness(let update), _):
            writer.byte(1)
            writer.byteString(update)
        case (.denied(let reason), _):
            writer.byte(2)
            writer.byte(dialect == .hocuspocus ? 1 : 0)
            writer.string(reason)
        case (.awarenessQuery, _): writer.byte(3)
        case (_, .yWebSocket): return false
        case (.token(let token, let version), _):
            writer.bytes += [2, 0]
            writer.string(token)
            if let version { writer.string(version) }
        case (.tokenQuery, _): writer.bytes += [2, 0]
        case (.authenticated(let isReadOnly), _):
            writer.bytes += [2, 2]
            writer.string(isReadOnly ? "readonly" : "read-write")
        case (.reply(let step), _):
            writer.byte(4)
            step.write(&writer)
        case (.text(let text), _):
            writer.byte(5)
            writer.string(text)
        case (.closed(let reason), _):
            writer.byte(7)
            writer.string(reason)
        case (.status(let isTaken), _): writer.bytes += [8, isTaken ? 1 : 0]
        case (.ping, _): writer.byte(9)
        case (.pong, _): writer.byte(10)
        }
        return true
    }
}

extension DocumentMessage.Sync {
    fileprivate init(_ reader: inout Lib0Reader) throws(DocumentError) {
        switch try reader.uint() {
        case 0: self = .stateVector(try reader.byteString())
        case 1: self = .missing(try reader.byteString())
        case 2: self = .update(try reader.byteString())
        default: throw reader.failure(.malformed)
        }
    }

    fileprivate func write(_ writer: inout Lib0Writer) {
        let (step, bytes): (UInt8, [UInt8]) =
            switch self {
            case .stateVector(let bytes): (0, bytes)
            case .missing(let bytes): (1, bytes)
            case .update(let bytes): (2, bytes)
            }
        writer.byte(step)
        writer.byteString(bytes)
    }
}
