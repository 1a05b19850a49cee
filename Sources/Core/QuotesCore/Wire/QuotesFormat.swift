package import CodecCore

/// The encodings of the protocol that describe themselves; Protocol Buffers are another module's.
package enum QuotesFormat: Hashable, Sendable {
    case json, messagePack

    package func encode(_ request: QuotesRequest) -> [UInt8] {
        switch self {
        case .json: written(JSONWriter(capacity: 128)) { request.write(to: &$0) }
        case .messagePack: written(MessagePackWireWriter(capacity: 128)) { request.write(to: &$0) }
        }
    }

    package func encode(_ reply: QuotesReply) -> [UInt8] {
        let size = reply.sizeEstimate
        return switch self {
        case .json: written(JSONWriter(capacity: size)) { reply.write(to: &$0) }
        case .messagePack: written(MessagePackWireWriter(capacity: size)) { reply.write(to: &$0) }
        }
    }

    /// Reads what a client sent; nil if it is of a type that a later version has.
    package func request(from bytes: RawSpan) throws(CodecError) -> QuotesRequest? {
        try read(bytes) { (reader: inout JSONWireReader) throws(CodecError) in
            try QuotesRequest.read(from: &reader)
        } messagePack: { (reader: inout MessagePackWireReader) throws(CodecError) in
            try QuotesRequest.read(from: &reader)
        }
    }

    /// Reads what a server sent; nil if it is of a type that a later version has.
    package func reply(from bytes: RawSpan) throws(CodecError) -> QuotesReply? {
        try read(bytes) { (reader: inout JSONWireReader) throws(CodecError) in
            try QuotesReply.read(from: &reader)
        } messagePack: { (reader: inout MessagePackWireReader) throws(CodecError) in
            try QuotesReply.read(from: &reader)
        }
    }

    private func written<Writer: WireWriter & ~Copyable>(_ writer: consuming Writer, _ write: (inout Writer) -> Void) -> [UInt8] {
        write(&writer)
        return writer.finish()
    }

    private func read<Result>(
        _ bytes: RawSpan, json: (inout JSONWireReader) throws(CodecError) -> Result,
        messagePack: (inout MessagePackWireReader) throws(CodecError) -> Result
    ) throws(CodecError) -> Result {
        // A typed error does not come through the closure.
        try unsafe bytes.withUnsafeBytes { bytes -> Swift.Result<Result, CodecError> in
            do throws(CodecError) {
                switch self {
                case .json:
                    var reader = JSONWireReader(unsafe ByteReader(bytes))
                    return .success(try json(&reader))
                case .messagePack:
                    var reader = MessagePackWireReader(unsafe ByteReader(bytes))
                    return .success(try messagePack(&reader))
                }
            } catch { return .failure(error) }
        }.get()
    }
}
