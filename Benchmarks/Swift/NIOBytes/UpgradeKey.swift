import NIOCore

/// The `Sec-WebSocket-Key` of a request, and the answer to it.
struct UpgradeKey {
    /// The number of bytes of the head with the empty line.
    let headSize: Int
    private let digest: [UInt8]

    /// Nil until the head is complete.
    ///
    /// A head without a key counts as incomplete.
    init?(in head: ByteBufferView) {
        let found = head.withUnsafeBytes { bytes -> (headSize: Int, digest: [UInt8])? in
            guard let end = Self.end(of: bytes), let key = Self.value(of: Self.name, in: bytes[..<end]) else { return nil }
            return (end, SHA1.digest(Array(key) + Self.magic))
        }
        guard let found else { return nil }
        (headSize, digest) = found
    }

    /// The response, which always has the same size.
    func answer(_ allocator: ByteBufferAllocator) -> ByteBuffer {
        var buffer = allocator.buffer(capacity: Self.status.utf8CodeUnitCount + 32)
        buffer.writeStaticString(Self.status)
        for start in stride(from: 0, to: digest.count, by: 3) { buffer.writeBytes(base64(digest[start..<min(start + 3, digest.count)])) }
        buffer.writeStaticString("\r\n\r\n")
        return buffer
    }

    private static let status: StaticString =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
    private static let magic = Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
    private static let name = Array("sec-websocket-key:".utf8)
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The index after the empty line.
    private static func end(of bytes: UnsafeRawBufferPointer) -> Int? {
        var index = 3
        while index < bytes.count {
            switch bytes[index] {
            case 10 where bytes[index - 1] == 13 && bytes[index - 2] == 10 && bytes[index - 3] == 13: return index + 1
            // From a line end the empty line's end is two bytes away, from other bytes further.
            case 10, 13: index += 1
            default: index += 2
            }
        }
        return nil
    }

    /// The value of the line that begins with `name` in any case.
    private static func value(of name: [UInt8], in head: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer>? {
        var line = head.startIndex
        while let end = head[line...].firstIndex(of: 13) {
            if end - line > name.count, zip(head[line...], name).allSatisfy({ $0 | 0x20 == $1 }) {
                var value = head[(line + name.count)..<end].drop { $0 == 32 }
                while value.last == 32 { value.removeLast() }
                return value
            }
            line = end + 2
            if line > head.endIndex { break }
        }
        return nil
    }

    /// Up to three bytes as four characters.
    private func base64(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var word = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        word <<= UInt32(8 * (3 - bytes.count))
        return (0..<4).map { index in
            index > bytes.count ? UInt8(ascii: "=") : Self.alphabet[Int(word >> UInt32(18 - 6 * index)) & 63]
        }
    }
}
