package import CodecCore

/// The self-describing encodings of the protocol.
///
/// Another module implements Protocol Buffers.
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

    /// Decodes a message from a client; returns nil if its type is unknown, as of a later version.
    package func request(from bytes: RawSpan) throws(CodecError) -> QuotesRequest? {
        try read(bytes) { (reader: inout JSONWireReader) throws(CodecError) in
            try QuotesRequest.read(from: &reader)
        } messagePack: { (reader: inout MessagePackWireReader) throws(CodecError) in
            try QuotesRequest.read(from: &reader)
        }
    }

    /// Decodes a message from a server; returns nil if its type is unknown, as of a later version.
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
        // A typed error cannot pass through the closure.
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

/// Writes the values that the protocol needs, one after another.
protocol WireWriter: ~Copyable {
    init(capacity: Int)

    mutating func openMap(_ pairs: Int)
    mutating func closeMap()
    mutating func openArray(_ count: Int)
    mutating func closeArray()
    /// Writes a key of the protocol, which needs no escaping.
    mutating func key(_ key: StaticString)
    mutating func number(_ number: Int64)
    mutating func text(_ text: String)
    mutating func flag(_ flag: Bool)

    /// Returns the written bytes.
    consuming func finish() -> [UInt8]
}

/// Writes MessagePack in its shortest form.
struct MessagePackWireWriter: WireWriter, ~Copyable {
    private var writer: ByteWriter

    init(capacity: Int) { writer = ByteWriter(capacity: capacity) }

    mutating func openMap(_ pairs: Int) {
        fits { (writer: inout ByteWriter) throws(CodecError) in try writer.map(pairs, .messagePack) }
    }
    mutating func closeMap() {}
    mutating func openArray(_ count: Int) {
        fits { (writer: inout ByteWriter) throws(CodecError) in try writer.array(count, .messagePack) }
    }
    mutating func closeArray() {}
    mutating func key(_ key: StaticString) { text(key.description) }
    mutating func number(_ number: Int64) { writer.signed(number, .messagePack) }
    mutating func text(_ text: String) { fits { (writer: inout ByteWriter) throws(CodecError) in try writer.text(text, .messagePack) } }
    mutating func flag(_ flag: Bool) { writer.bool(flag, .messagePack) }

    consuming func finish() -> [UInt8] { writer.array() }

    /// Only a length of more than 32 bits is an error, and no value written here is that long.
    private mutating func fits(_ write: (inout ByteWriter) throws(CodecError) -> Void) {
        do throws(CodecError) { try write(&writer) } catch { assertionFailure("\(error)") }
    }
}

extension JSONWriter: WireWriter {
    mutating func openMap(_ pairs: Int) { open(UInt8(ascii: "{")) }
    mutating func closeMap() { close(UInt8(ascii: "}")) }
    mutating func openArray(_ count: Int) { open(UInt8(ascii: "[")) }
    mutating func closeArray() { close(UInt8(ascii: "]")) }
}
