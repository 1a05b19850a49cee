public import CodecCore
package import WebSocketCore

/// The serialization of messages, which the peers agree on as the WebSocket subprotocol.
public enum WAMPSerialization: String, Hashable, Sendable, CaseIterable {
    /// JSON, in text messages. Bytes are Base64 texts after a character of code 0.
    case json
    /// MessagePack, in binary messages.
    case messagePack
    /// CBOR, in binary messages.
    case cbor

    /// The name of the subprotocol in the opening handshake.
    public var subprotocol: String {
        switch self {
        case .json: "wamp.2.json"
        case .messagePack: "wamp.2.msgpack"
        case .cbor: "wamp.2.cbor"
        }
    }

    /// Creates the serialization of a subprotocol; nil if it is unknown.
    public init?(subprotocol: String) {
        guard let found = Self.allCases.first(where: { $0.subprotocol == subprotocol }) else { return nil }
        self = found
    }

    /// Whether messages are text messages; otherwise they are binary.
    public var isText: Bool { self == .json }

    /// The kind of WebSocket message that carries a message.
    package var messageKind: MessageKind { isText ? .text : .binary }
}

/// Why bytes are not a WAMP message.
public struct WAMPFormatError: Error, Hashable, Sendable {
    /// The kind of error.
    public enum Reason: Hashable, Sendable {
        /// The bytes are not valid in the serialization.
        case undecodable(CodecError)
        /// The value is not an array that starts with a number.
        case noMessage
        /// There is no message type with this number.
        case unknownType(UInt64)
        /// The field with this name is missing or has the wrong type.
        case field(String)
        /// The message has too many fields.
        case tooManyFields
        /// The message has the wrong kind: text where binary was agreed on, or the reverse.
        case messageKind
    }

    /// The kind of error.
    public let reason: Reason
    /// The type of the message, if it could be read.
    public let type: UInt64?

    /// Creates an error.
    public init(_ reason: Reason, type: UInt64? = nil) { (self.reason, self.type) = (reason, type) }
}

extension WAMPFormatError: CustomStringConvertible {
    /// The name of the message and the problem: `SUBSCRIBE: "topic" is missing or not a text`.
    public var description: String {
        let words =
            switch reason {
            case .undecodable(let error): error.description
            case .noMessage: "not a list that starts with a message type"
            case .unknownType(let number): "unknown message type \(number)"
            case .field(let name): "\"\(name)\" is missing or not \(Self.kind(of: name))"
            case .tooManyFields: "too many fields"
            case .messageKind: "a text message where binary was agreed on, or the reverse"
            }
        guard let type, let name = WAMPMessage.name(ofType: type) else { return words }
        return "\(name): \(words)"
    }

    private static func kind(of field: String) -> String {
        switch field {
        case "details", "options", "extra", "keywords": "a dictionary"
        case "arguments": "a list"
        case "request", "session", "publication", "subscription", "registration": "an id"
        case "request type": "a request type"
        default: "a text"
        }
    }
}

extension WAMPMessage {
    /// Encodes the message.
    ///
    /// Arguments that came in the same serialization are copied unchanged. A value that the serialization cannot represent is replaced by
    /// the closest one. In JSON, bytes become a Base64 text after a character of code 0, a time becomes an RFC 3339 text, and infinity
    /// and NaN become null. A value loses its tag in JSON and MessagePack, and an extension loses its type in JSON and CBOR.
    ///
    /// - Throws: A `CodecError` if something is too large for the serialization.
    public func encoded(as serialization: WAMPSerialization) throws(CodecError) -> [UInt8] {
        var writer = ByteWriter(capacity: 96 + sizeHint)
        try encode(into: &writer, as: serialization)
        return writer.array()
    }

    /// Encodes the message as a WebSocket message.
    package func written(as serialization: WAMPSerialization) throws(CodecError) -> Message {
        let bytes = try encoded(as: serialization)
        return serialization.isText ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
    }

    /// Appends the encoded message, in the form of ``encoded(as:)``.
    ///
    /// - Throws: A `CodecError` if something is too large for the serialization; then a part of the message has been appended.
    public func encode(into writer: inout ByteWriter, as serialization: WAMPSerialization) throws(CodecError) {
        switch self {
        case .hello, .welcome, .abort, .challenge, .authenticate, .goodbye: try encodeSession(into: &writer, serialization)
        case .error(let kind, let request, let details, let uri, let arguments):
            try writer.beginMessage(type, elements: 5 + arguments.elementCount, serialization)
            writer.element(kind.rawValue, serialization)
            writer.element(request, serialization)
            try writer.element(details, serialization)
            try writer.element(uri, serialization)
            try writer.elements(arguments, serialization)
        case .publish(let request, let map, let uri, let arguments), .call(let request, let map, let uri, let arguments):
            try writer.beginMessage(type, elements: 4 + arguments.elementCount, serialization)
            writer.element(request, serialization)
            try writer.element(map, serialization)
            try writer.element(uri, serialization)
            try writer.elements(arguments, serialization)
        case .event(let first, let second, let details, let arguments), .invocation(let first, let second, let details, let arguments):
            try writer.beginMessage(type, elements: 4 + arguments.elementCount, serialization)
            writer.element(first, serialization)
            writer.element(second, serialization)
            try writer.element(details, serialization)
            try writer.elements(arguments, serialization)
        case .result(let request, let map, let arguments), .yield(let request, let map, let arguments):
            try writer.beginMessage(type, elements: 3 + arguments.elementCount, serialization)
            writer.element(request, serialization)
            try writer.element(map, serialization)
            try writer.elements(arguments, serialization)
        case .subscribe(let request, let options, let uri), .register(let request, let options, let uri):
            try writer.beginMessage(type, elements: 4, serialization)
            writer.element(request, serialization)
            try writer.element(options, serialization)
            try writer.element(uri, serialization)
        case .published(let request, let id), .subscribed(let request, let id), .unsubscribe(let request, let id),
            .registered(let request, let id), .unregister(let request, let id):
            try writer.beginMessage(type, elements: 3, serialization)
            writer.element(request, serialization)
            writer.element(id, serialization)
        case .unsubscribed(let request, let details), .unregistered(let request, let details):
            // Details are defined only for messages that answer no request.
            try writer.beginMessage(type, elements: request == 0 ? 3 : 2, serialization)
            writer.element(request, serialization)
            if request == 0 { try writer.element(details, serialization) }
        case .cancel(let request, let options), .interrupt(let request, let options):
            try writer.beginMessage(type, elements: 3, serialization)
            writer.element(request, serialization)
            try writer.element(options, serialization)
        }
        writer.endMessage(serialization)
    }

    private func encodeSession(into writer: inout ByteWriter, _ serialization: WAMPSerialization) throws(CodecError) {
        switch self {
        case .hello(let text, let map), .challenge(let text, let map), .authenticate(let text, let map):
            try writer.beginMessage(type, elements: 3, serialization)
            try writer.element(text, serialization)
            try writer.element(map, serialization)
        case .welcome(let session, let details):
            try writer.beginMessage(type, elements: 3, serialization)
            writer.element(session, serialization)
            try writer.element(details, serialization)
        case .abort(let details, let reason, let arguments), .goodbye(let details, let reason, let arguments):
            try writer.beginMessage(type, elements: 3 + arguments.elementCount, serialization)
            try writer.element(details, serialization)
            try writer.element(reason, serialization)
            try writer.elements(arguments, serialization)
        default: break
        }
    }

    private var sizeHint: Int {
        switch self {
        case .publish(_, let map, let uri, let arguments), .call(_, let map, let uri, let arguments),
            .error(_, _, let map, let uri, let arguments):
            32 * map.count + uri.utf8.count + arguments.sizeHint
        case .event(_, _, let map, let arguments), .invocation(_, _, let map, let arguments), .result(_, let map, let arguments),
            .yield(_, let map, let arguments):
            32 * map.count + arguments.sizeHint
        default: 0
        }
    }

    /// Decodes the payload of a WebSocket message, which must have the serialization's kind.
    package init(
        decoding bytes: RawSpan, of kind: MessageKind, as serialization: WAMPSerialization, limits: CodecLimits
    ) throws(WAMPFormatError) {
        guard kind == serialization.messageKind else { throw WAMPFormatError(.messageKind) }
        try self.init(decoding: bytes, as: serialization, limits: limits)
    }

    /// Decodes a complete message.
    ///
    /// Unknown attributes are kept, and a dictionary at the end may be missing; additional elements are refused. Arguments are checked to
    /// be well-formed, and stay bytes.
    ///
    /// - Throws: A ``WAMPFormatError`` if the bytes are not a message, or exceed the limits.
    public init(decoding bytes: RawSpan, as serialization: WAMPSerialization, limits: CodecLimits = .standard) throws(WAMPFormatError) {
        // The closure cannot throw a typed error.
        self = try unsafe bytes.withUnsafeBytes { bytes -> Result<WAMPMessage, WAMPFormatError> in
            do throws(WAMPFormatError) {
                var reader = unsafe try ElementReader(bytes, serialization, limits)
                let message = try WAMPMessage(&reader)
                try reader.finish()
                return .success(message)
            } catch { return .failure(error) }
        }.get()
    }

    private init(_ reader: inout ElementReader) throws(WAMPFormatError) {
        switch reader.type ?? 0 {
        case 1: self = .hello(realm: try reader.text("realm"), details: try reader.map("details"))
        case 2: self = .welcome(session: try reader.id("session"), details: try reader.map("details"))
        case 3: self = .abort(details: try reader.map("details"), reason: try reader.text("reason"), try reader.arguments())
        case 4: self = .challenge(method: try reader.text("method"), extra: try reader.map("extra"))
        case 5: self = .authenticate(signature: try reader.text("signature"), extra: try reader.map("extra"))
        case 6: self = .goodbye(details: try reader.map("details"), reason: try reader.text("reason"), try reader.arguments())
        case 8:
            self = .error(
                try reader.kind(), request: try reader.request(), details: try reader.map("details"), uri: try reader.text("error"),
                try reader.arguments())
        case 16, 17, 32...36: try self.init(event: &reader)
        case 48...50, 64...70: try self.init(call: &reader)
        case let type: throw WAMPFormatError(.unknownType(type), type: type)
        }
    }

    /// Decodes a message between publishers, the broker and subscribers.
    private init(event reader: inout ElementReader) throws(WAMPFormatError) {
        switch reader.type ?? 0 {
        case 16:
            self = .publish(
                request: try reader.request(), options: try reader.map("options"), topic: try reader.text("topic"), try reader.arguments())
        case 17: self = .published(request: try reader.request(), publication: try reader.id("publication"))
        case 32:
            self = .subscribe(request: try reader.request(), options: try reader.map("options"), topic: try reader.text("topic"))
        case 33: self = .subscribed(request: try reader.request(), subscription: try reader.id("subscription"))
        case 34: self = .unsubscribe(request: try reader.request(), subscription: try reader.id("subscription"))
        case 35: self = .unsubscribed(request: try reader.request(), details: try reader.map("details"))
        default:
            self = .event(
                subscription: try reader.id("subscription"), publication: try reader.id("publication"),
                details: try reader.map("details"), try reader.arguments())
        }
    }

    /// Decodes a message between callers, the dealer and callees.
    private init(call reader: inout ElementReader) throws(WAMPFormatError) {
        switch reader.type ?? 0 {
        case 48:
            self = .call(
                request: try reader.request(), options: try reader.map("options"), procedure: try reader.text("procedure"),
                try reader.arguments())
        case 49: self = .cancel(request: try reader.request(), options: try reader.map("options"))
        case 50: self = .result(request: try reader.request(), details: try reader.map("details"), try reader.arguments())
        case 64:
            self = .register(request: try reader.request(), options: try reader.map("options"), procedure: try reader.text("procedure"))
        case 65: self = .registered(request: try reader.request(), registration: try reader.id("registration"))
        case 66: self = .unregister(request: try reader.request(), registration: try reader.id("registration"))
        case 67: self = .unregistered(request: try reader.request(), details: try reader.map("details"))
        case 68:
            self = .invocation(
                request: try reader.request(), registration: try reader.id("registration"), details: try reader.map("details"),
                try reader.arguments())
        case 69: self = .interrupt(request: try reader.request(), options: try reader.map("options"))
        default: self = .yield(request: try reader.request(), options: try reader.map("options"), try reader.arguments())
        }
    }
}
