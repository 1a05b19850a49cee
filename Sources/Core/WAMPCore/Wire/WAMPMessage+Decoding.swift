public import CodecCore
package import WebSocketCore

extension WAMPMessage {
    /// The message that is the payload of one of a WebSocket; it has to be of the serialization's kind.
    package init(
        decoding bytes: RawSpan, of kind: MessageKind, as serialization: WAMPSerialization, limits: CodecLimits
    ) throws(WAMPFormatError) {
        guard kind == serialization.messageKind else { throw WAMPFormatError(.messageKind) }
        try self.init(decoding: bytes, as: serialization, limits: limits)
    }

    /// The message that these bytes are, as a whole.
    ///
    /// Unknown attributes are kept, and a dictionary at the end may be missing; further elements are refused. Arguments are found
    /// well-formed, and stay bytes.
    ///
    /// - Throws: A ``WAMPFormatError`` if they are none, or beyond the limits.
    public init(decoding bytes: RawSpan, as serialization: WAMPSerialization, limits: CodecLimits = .standard) throws(WAMPFormatError) {
        // A typed error does not come through the closure.
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

    /// What goes between publishers, the broker and subscribers.
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

    /// What goes between callers, the dealer and callees.
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
