/// Looks at a message of Protocol Buffers from outside, in one pass, before it is decoded.
///
/// A field that comes again is merged into the first one, and generated code copies a `oneof` each time: decoding one short message that
/// repeats its body takes the square of its length, which is minutes for 1 MiB. And a repeated field of empty messages takes a hundred
/// times the memory of its bytes.
package enum ProtobufShape {
    /// Fields beside a body are of later versions: there are few.
    private static let mostFields = 16

    /// Whether a message, all of whose fields are messages, says no field twice, and has so many fields at most in each.
    ///
    /// What is no Protocol Buffers at all may pass: the decoder refuses it.
    @unsafe package static func isPlain(_ bytes: UnsafeRawBufferPointer, fields most: Int) -> Bool {
        var (fields, seen, count) = (unsafe ProtobufFields(ByteReader(bytes), upTo: bytes.count), UInt64(0), 0)
        while let field = fields.next() {
            count += 1
            // What has a greater number is of a later version, and is not kept.
            let bit: UInt64 = field.number < 64 ? 1 << field.number : 0
            guard count <= mostFields, seen & bit == 0 else { return false }
            seen |= bit
            guard let body = field.payload, most < body.count / 2 else { continue }
            var (inner, count) = (unsafe ProtobufFields(ByteReader(bytes, from: body.lowerBound), upTo: body.upperBound), 0)
            while inner.next() != nil {
                count += 1
                guard count <= most else { return false }
            }
        }
        return true
    }
}

/// The fields of a message, one after the other; they end early where the bytes are malformed.
///
/// Source: protobuf.dev, "Encoding".
private struct ProtobufFields {
    private var bytes: ByteReader
    private let end: Int

    init(_ bytes: ByteReader, upTo end: Int) { (self.bytes, self.end) = (bytes, end) }

    /// The next field; `payload` is where it lies, if it has a length.
    mutating func next() -> (number: UInt64, payload: Range<Int>?)? {
        guard let tag = varint() else { return nil }
        let number = tag >> 3
        switch tag & 7 {
        case 0: return varint().map { _ in (number, nil) }
        case 1: return skip(8).map { _ in (number, nil) }
        case 2: return varint().flatMap { skip($0) }.map { (number, $0) }
        // The begin and the end of a group stand for themselves.
        case 3, 4: return (number, nil)
        case 5: return skip(4).map { _ in (number, nil) }
        default: return nil
        }
    }

    private mutating func skip(_ count: UInt64) -> Range<Int>? {
        let start = bytes.position
        guard count <= UInt64(max(end - start, 0)) else { return nil }
        bytes.move(to: start + Int(count))
        return start..<bytes.position
    }

    private mutating func varint() -> UInt64? {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while shift < 64, bytes.position < end, let byte = try? bytes.byte() {
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }
}
