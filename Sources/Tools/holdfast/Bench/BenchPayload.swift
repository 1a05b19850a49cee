import ArgumentParser
import Holdfast

/// The messages of a benchmark: identical except for a number at the front, as far as the size allows.
///
/// Binary messages begin with up to eight bytes of the number, lowest byte first; text messages with up to eight hexadecimal digits,
/// lowest digit first. The rest is noise that does not compress by itself; but the next message does compress, because it is almost
/// identical.
struct BenchPayload: Hashable, Sendable {
    private static let numberLength = 8
    /// Longer messages repeat the noise, after more than the 32 KiB window of compression (RFC 7692 §7.1.2.1).
    private static let noiseLength = 65_521

    let kind: PayloadKind
    /// The bits of the number that a message can hold.
    let mask: UInt64
    private var bytes: [UInt8]

    init(kind: PayloadKind, size: Int) {
        self.kind = kind
        let bits = min(size, Self.numberLength) * (kind == .binary ? 8 : 4)
        mask = (1 as UInt64) << bits &- 1
        var noise: UInt64 = 0x9E37_79B9_7F4A_7C15
        bytes = (0..<min(size, Self.noiseLength)).map { _ in
            // Xorshift: the same in every run, and as dense as the kind allows.
            noise ^= noise << 13
            noise ^= noise >> 7
            noise ^= noise << 17
            return kind == .binary ? UInt8(truncatingIfNeeded: noise >> 32) : UInt8(ascii: "0") + UInt8(noise >> 32 & 63)
        }
        let block = bytes
        bytes.reserveCapacity(size)
        while bytes.count < size { bytes += block.prefix(size - bytes.count) }
    }

    var size: Int { bytes.count }

    /// Returns the message with this number.
    ///
    /// It is mutating, so that the bytes are written in place when the previous message is no longer in use.
    mutating func message(_ number: Int) -> Message {
        var rest = UInt64(truncatingIfNeeded: number)
        for index in 0..<min(bytes.count, Self.numberLength) {
            switch kind {
            case .binary:
                bytes[index] = UInt8(truncatingIfNeeded: rest)
                rest >>= 8
            case .text:
                bytes[index] = Self.digit(UInt8(rest & 15))
                rest >>= 4
            }
        }
        return kind == .binary ? .binary(bytes) : .text(String(decoding: bytes, as: UTF8.self))
    }

    /// Returns the known bits of the number that a reply echoes; nil if the reply cannot be an echo.
    func number(in reply: Message) -> UInt64? {
        switch (reply, kind) {
        case (.binary(let reply), .binary) where reply.count == bytes.count:
            var number: UInt64 = 0
            for byte in reply.prefix(Self.numberLength).reversed() { number = number << 8 | UInt64(byte) }
            return number
        case (.text(let reply), .text) where reply.utf8.count == bytes.count:
            var number: UInt64 = 0
            for byte in reply.utf8.prefix(Self.numberLength).reversed() {
                guard let value = Self.value(ofDigit: byte) else { return nil }
                number = number << 4 | UInt64(value)
            }
            return number
        default: return nil
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }

    private static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

/// The kind of a benchmark's messages.
enum PayloadKind: String, EnumerableFlag {
    case binary, text
}

/// The length of a message: a ``ByteCount``, or 0.
struct PayloadSize: Hashable, Sendable, ExpressibleByArgument, CustomStringConvertible {
    let bytes: Int

    init(bytes: Int) { self.bytes = bytes }

    init?(argument: String) {
        guard let bytes = argument == "0" ? 0 : ByteCount(argument: argument)?.bytes else { return nil }
        self.bytes = bytes
    }

    var description: String { String(bytes) }
}
