public import CodecCore
package import WebSocketCore

extension WAMPMessage {
    /// The bytes of the message.
    ///
    /// Arguments that came in the same serialization are copied as they came. What the serialization cannot say becomes what is nearest:
    /// in JSON, bytes a text of Base64 behind a character of code 0, a time a text of RFC 3339, a number that is infinite or none null; a
    /// value loses its tag in JSON and MessagePack, an extension its type in JSON and CBOR.
    ///
    /// - Throws: A `CodecError` of what is too large for the serialization.
    public func encoded(as serialization: WAMPSerialization) throws(CodecError) -> [UInt8] {
        var writer = ByteWriter(capacity: 96 + sizeHint)
        try encode(into: &writer, as: serialization)
        return writer.array()
    }

    /// The same as a message of a WebSocket.
    package func written(as serialization: WAMPSerialization) throws(CodecError) -> Message {
        let bytes = try encoded(as: serialization)
        return serialization.isText ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
    }

    /// Appends the bytes of the message, as ``encoded(as:)`` makes them.
    ///
    /// - Throws: A `CodecError` of what is too large for the serialization; then part of the message stands there.
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
            // Details are defined only where nobody asked.
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
}
