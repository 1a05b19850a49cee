import CodecCore
package import ProtocolCore
package import WebSocketCore

/// A subprotocol for GraphQL over WebSocket.
public enum GraphQLProtocol: String, Hashable, Sendable, CaseIterable {
    /// The protocol of the library graphql-ws, which servers use today.
    case transportWS = "graphql-transport-ws"
    /// The legacy protocol of subscriptions-transport-ws, whose name on the wire is `graphql-ws`.
    case legacy = "graphql-ws"
}

/// A message to a GraphQL server; both protocols have the same ones with other names.
package enum GraphQLRequest: Hashable, Sendable {
    /// The first message of a connection. The payload is JSON.
    case initialize(payload: [UInt8]?)
    /// Begins an operation. The payload is JSON: query, variables, operationName, extensions.
    case subscribe(RequestID, payload: [UInt8])
    /// Ends an operation that the app no longer wants.
    case complete(RequestID)
    /// Asks for a pong. Only in `graphql-transport-ws`.
    case ping
    /// Answers a ping, with its payload.
    case pong(payload: [UInt8]?)
}

/// A message of a GraphQL server.
package enum GraphQLReply: Hashable, Sendable {
    /// The server accepts the connection. The payload is JSON.
    case acknowledged(payload: [UInt8]?)
    /// The server refuses the connection, in the legacy protocol.
    case refused([GraphQLError])
    /// Asks for a pong with the same payload.
    case ping(payload: [UInt8]?)
    /// Answers a ping.
    case pong
    /// Shows that the server is alive, in the legacy protocol.
    case keepAlive
    /// A result of an operation.
    case next(RequestID, GraphQLResult)
    /// The operation failed, and is over.
    case failed(RequestID, [GraphQLError])
    /// The operation is over.
    case completed(RequestID)
}

/// What the app sends on a new connection.
package struct GraphQLGreeting: Hashable, Sendable {
    /// The payload of the first message, as JSON; nil for none.
    package var payload: [UInt8]?
    /// Whether the server knows pings of this side.
    package var hasPings: Bool
    /// New payloads of subscriptions that begin again on this connection.
    package var renewed: [RequestID: [UInt8]]

    package init(payload: [UInt8]? = nil, hasPings: Bool = true, renewed: [RequestID: [UInt8]] = [:]) {
        (self.payload, self.hasPings, self.renewed) = (payload, hasPings, renewed)
    }
}

/// Encodes and decodes the messages of one connection.
package struct GraphQLCoding: ProtocolCoding {
    /// The maximum nesting depth of what a server sends, without `data`, whose depth the app's decoder limits.
    static let maximumDepth = 64

    package let greeting: GraphQLGreeting
    private let version: GraphQLProtocol

    package init(_ version: GraphQLProtocol, payload: [UInt8]? = nil, renewed: [RequestID: [UInt8]] = [:]) {
        self.version = version
        greeting = GraphQLGreeting(payload: payload, hasPings: version == .transportWS, renewed: renewed)
    }

    // MARK: - To the server

    package func encode(_ message: GraphQLRequest) -> Message {
        let isLegacy = version == .legacy
        return switch message {
        case .initialize(let payload): text("connection_init", payload: payload)
        case .subscribe(let id, let payload): text(isLegacy ? "start" : "subscribe", id: id, payload: payload)
        case .complete(let id): text(isLegacy ? "stop" : "complete", id: id)
        case .ping: text("ping")
        case .pong(let payload): text("pong", payload: payload)
        }
    }

    private func text(_ type: String, id: RequestID? = nil, payload: [UInt8]? = nil) -> Message {
        var writer = JSONWriter(capacity: 64 + (payload?.count ?? 0))
        writer.open(UInt8(ascii: "{"))
        if let id {
            writer.key("id")
            writer.text("\(id.number)")
        }
        writer.key("type")
        writer.text(type)
        if let payload {
            writer.key("payload")
            writer.raw(payload)
        }
        writer.close(UInt8(ascii: "}"))
        return .text(String(decoding: writer.finish(), as: UTF8.self))
    }

    // MARK: - From the server

    /// Decodes a message; nil for one that does not concern this client, such as a type that it does not know.
    ///
    /// The protocols have text messages only. A binary message with the same JSON is accepted; any other binary message is ignored.
    package func decode(_ message: Message) throws -> GraphQLReply? {
        do {
            return unsafe try message.withBytes { bytes in
                var envelope = unsafe try Envelope(bytes)
                return try envelope.reply(version)
            }
        } catch {
            guard case .binary = message else { throw error }
            return nil
        }
    }
}

/// The fields of a message, in place.
private struct Envelope {
    private var reader: ByteReader
    private var type = ""
    private var id: RequestID?
    private var payload: Range<Int>?

    init(_ bytes: UnsafeRawBufferPointer) throws(CodecError) {
        unsafe reader = ByteReader(bytes)
        var (type, id, payload): (String, RequestID?, Range<Int>?) = ("", nil, nil)
        try reader.eachField { name, reader throws(CodecError) in
            switch name {
            case "type": type = try reader.jsonValue(levels: 0).string ?? ""
            // This client numbers its operations. Any other id belongs to none of them.
            case "id": id = try reader.jsonValue(levels: 0).string.flatMap { UInt64($0) }.map { RequestID($0) }
            case "payload": payload = try reader.jsonRange()
            default: try reader.checkJSON(levels: GraphQLCoding.maximumDepth)
            }
        }
        try reader.finishJSON()
        (self.type, self.id, self.payload) = (type, id, payload)
    }

    mutating func reply(_ version: GraphQLProtocol) throws(CodecError) -> GraphQLReply? {
        switch (type, id) {
        case ("connection_ack", _): return .acknowledged(payload: try checkedPayload())
        case ("connection_error", _): return .refused(try errors())
        case ("ka", _): return .keepAlive
        case ("ping", _): return .ping(payload: try checkedPayload())
        case ("pong", _): return .pong
        case ("next", let id?) where version == .transportWS, ("data", let id?) where version == .legacy:
            guard let payload else { return nil }
            reader.move(to: payload.lowerBound)
            return .next(id, try GraphQLResult(&reader))
        case ("error", let id?): return .failed(id, try errors())
        case ("complete", let id?): return .completed(id)
        default: return nil
        }
    }

    /// The payload as it was sent, checked, because a pong returns it.
    private mutating func checkedPayload() throws(CodecError) -> [UInt8]? {
        guard let payload else { return nil }
        reader.move(to: payload.lowerBound)
        try reader.checkJSON(levels: GraphQLCoding.maximumDepth)
        return unsafe [UInt8](reader.bytes(from: payload.lowerBound, to: payload.upperBound))
    }

    private mutating func errors() throws(CodecError) -> [GraphQLError] {
        guard let payload else { return [] }
        reader.move(to: payload.lowerBound)
        return GraphQLError.all(in: try reader.jsonValue(levels: GraphQLCoding.maximumDepth))
    }
}

extension ByteReader {
    /// Reads an object: calls `body` with each key, to read the value after it.
    mutating func eachField(_ body: (String, inout ByteReader) throws(CodecError) -> Void) throws(CodecError) {
        try expect(UInt8(ascii: "{"))
        var isFirst = true
        while try hasItem(before: UInt8(ascii: "}"), isFirst: &isFirst) {
            try expect(UInt8(ascii: "\""))
            let name = try string(of: try jsonText())
            try expect(UInt8(ascii: ":"))
            try body(name, &self)
        }
    }

    /// Skips a value and returns where it is; whoever decodes it checks the rest.
    mutating func jsonRange() throws(CodecError) -> Range<Int> {
        skipSpace()
        let start = position
        try skipJSON()
        return start..<position
    }
}
