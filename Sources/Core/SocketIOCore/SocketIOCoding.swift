import CodecCore
package import ProtocolCore
package import WebSocketCore

/// A message to a Socket.IO server.
package enum SocketIORequest: Hashable, Sendable {
    /// Asks for a namespace. The payload is JSON.
    case connect(String, payload: [UInt8]?)
    /// Leaves a namespace.
    case disconnect(String)
    /// The first message of an event; its byte strings follow.
    case event(SocketIOEmit, acknowledgement: Int?)
    /// The first message of an answer to an event of the server; its byte strings follow.
    case answer(String, id: Int, SocketIOArguments)
    /// A byte string of an event, with its position; nil: of an answer.
    case attachment([UInt8], of: RequestID?)
    /// Asks for a pong (protocol 4, where the client sends the pings).
    case ping
    /// Answers a ping.
    case pong
}

/// An event that the app sends.
package struct SocketIOEmit: Hashable, Sendable {
    /// What becomes of an event.
    package enum Kind: Hashable, Sendable {
        /// It is done when the connection takes it.
        case plain
        /// It is dropped if it cannot be sent at once.
        case volatile
        /// It is done when the server has acknowledged it.
        case acknowledged
        /// It is sent again until the server acknowledges it: at most so many times more, each time after this wait.
        case retried(Int, after: Duration)
    }
    package var id: RequestID
    package var namespace: String
    package var arguments: SocketIOArguments
    package var kind: Kind

    package init(_ id: RequestID, _ namespace: String, _ arguments: SocketIOArguments, _ kind: Kind = .plain) {
        (self.id, self.namespace, self.arguments, self.kind) = (id, namespace, arguments, kind)
    }
}

/// A message of a Socket.IO server.
package enum SocketIOReply: Hashable, Sendable {
    /// The first message of a connection.
    case opened(EngineHandshake)
    /// The server ends the connection.
    case closed
    /// Asks for a pong.
    case ping
    /// Answers a ping.
    case pong
    /// A packet without its byte strings.
    case packet(SocketIOPacket)
    /// A byte string of the last packet.
    case attachment([UInt8])
}

/// What the server says about a connection (Engine.IO protocol, "Handshake").
package struct EngineHandshake: Hashable, Sendable {
    /// The id of the connection.
    package var sid: String
    /// The time from one ping to the next.
    package var pingInterval: Duration
    /// How late a ping of the server, or its answer, may come.
    package var pingTimeout: Duration
    /// The maximum size of a message to the server, in bytes; nil: unlimited.
    package var maximumBytes: Int?

    package init(
        sid: String, pingInterval: Duration = .seconds(25), pingTimeout: Duration = .seconds(20), maximumBytes: Int? = nil
    ) {
        (self.sid, self.pingInterval, self.pingTimeout, self.maximumBytes) = (sid, pingInterval, pingTimeout, maximumBytes)
    }

    /// The longest pause between two messages that a server may ask for.
    static let longest = Duration.seconds(86_400)

    init(_ value: Value) throws(CodecError) {
        guard let sid = value["sid"]?.string, !sid.isEmpty, let interval = Self.time(value["pingInterval"]),
            let timeout = Self.time(value["pingTimeout"])
        else { throw CodecError(.malformed, at: 0) }
        self.init(sid: sid, pingInterval: interval, pingTimeout: timeout, maximumBytes: value["maxPayload"]?.int)
    }

    /// Reads the JSON of the first packet.
    static func value(of message: Message) throws(CodecError) -> Value {
        guard case .text(let text) = message, text.utf8.first == UInt8(ascii: "0") else { throw CodecError(.malformed, at: 0) }
        return try Value(json: Array(text.utf8.dropFirst()))
    }

    /// Returns the first packet with another limit for messages.
    static func message(_ value: Value, maximumBytes: Int) throws(CodecError) -> Message {
        var map = value.entries ?? ValueMap()
        map["maxPayload"] = .integer(Int64(maximumBytes))
        return .text("0" + String(decoding: try Value.map(map).json(), as: UTF8.self))
    }

    private static func time(_ value: Value?) -> Duration? {
        guard let milliseconds = value?.double, milliseconds > 0 else { return nil }
        return milliseconds < 86_400_000 ? .milliseconds(milliseconds) : longest
    }
}

/// Encodes and decodes the messages of one connection over a WebSocket (Engine.IO protocols 3 and 4).
package struct SocketIOCoding: ProtocolCoding {
    /// In Engine.IO protocol 3 a byte string has its type as the first byte.
    private static let bytesType: UInt8 = 4
    private let version: SocketIOVersion

    package init(_ version: SocketIOVersion = .v5) { self.version = version }

    package func encode(_ message: SocketIORequest) -> Message {
        switch message {
        case .connect(let namespace, let payload) where version == .v4:
            .text(SocketIOPacket(.connect, namespace: SocketIOVersion.target(namespace, payload: payload)).text)
        case .connect(let namespace, let payload): .text(SocketIOPacket(.connect, namespace: namespace, json: payload ?? []).text)
        case .disconnect(let namespace): .text(SocketIOPacket(.disconnect, namespace: namespace).text)
        case .event(let emit, let id):
            text(emit.arguments, emit.arguments.attachments.isEmpty ? .event : .binaryEvent, emit.namespace, id)
        case .answer(let namespace, let id, let arguments):
            text(arguments, arguments.attachments.isEmpty ? .acknowledgement : .binaryAcknowledgement, namespace, id)
        case .attachment(let bytes, of: _): .binary(version == .v4 ? [Self.bytesType] + bytes : bytes)
        case .ping: .text("2")
        case .pong: .text("3")
        }
    }

    private func text(_ arguments: SocketIOArguments, _ kind: SocketIOPacket.Kind, _ namespace: String, _ id: Int?) -> Message {
        .text(
            SocketIOPacket(kind, namespace: namespace, id: id, attachments: arguments.attachments.count, json: arguments.json).text)
    }

    /// Decodes a message; nil for a type that does not concern this client, such as `noop`.
    package func decode(_ message: Message) throws -> SocketIOReply? {
        if case .binary = message {
            let bytes = unsafe message.withBytes { unsafe [UInt8]($0) }
            guard version == .v4 else { return .attachment(bytes) }
            guard bytes.first == Self.bytesType else { throw CodecError(.malformed, at: 0) }
            return .attachment(Array(bytes.dropFirst()))
        }
        return unsafe try message.withBytes { bytes throws(CodecError) -> SocketIOReply? in
            var reader = unsafe ByteReader(bytes)
            switch try reader.byte() {
            case UInt8(ascii: "0"):
                let value = try reader.jsonValue(levels: 8)
                try reader.finishJSON()
                return .opened(try EngineHandshake(value))
            case UInt8(ascii: "1"): return .closed
            case UInt8(ascii: "2"): return .ping
            case UInt8(ascii: "3"): return .pong
            case UInt8(ascii: "4"): return .packet(try SocketIOPacket(&reader))
            case UInt8(ascii: "5"), UInt8(ascii: "6"): return nil
            default: throw CodecError(.malformed, at: 0)
            }
        }
    }

    package func isEphemeral(_ message: SocketIORequest) -> Bool {
        if case .event(let emit, _) = message { emit.kind == .volatile && emit.arguments.attachments.isEmpty } else { false }
    }
}
