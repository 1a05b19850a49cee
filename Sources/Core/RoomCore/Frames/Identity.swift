import CodecCore
import MachineCore

/// The name of a room: 1 to 128 bytes of UTF-8 without control characters.
public struct RoomName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name as text.
    public let text: String

    /// Creates a name; nil if the text is empty, longer than 128 bytes, or contains a control character.
    public init?(_ text: String) {
        guard (1...RoomsLimits.nameLength).contains(text.utf8.count), text.unicodeScalars.allSatisfy(\.isPlain) else { return nil }
        self.text = text
    }

    /// The name as text.
    public var description: String { text }
    /// Compares by bytes: two encodings of an accent are two names.
    public static func == (lhs: RoomName, rhs: RoomName) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }
    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
    /// Orders by bytes.
    public static func < (lhs: RoomName, rhs: RoomName) -> Bool { lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8) }
}

/// The name of a user, as the hub reads it from a token: 1 to 128 bytes of UTF-8 without control characters.
public struct UserName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name as text.
    public let text: String

    /// Creates a name; nil if the text is empty, longer than 128 bytes, or contains a control character.
    public init?(_ text: String) {
        guard (1...RoomsLimits.nameLength).contains(text.utf8.count), text.unicodeScalars.allSatisfy(\.isPlain) else { return nil }
        self.text = text
    }

    /// The name as text.
    public var description: String { text }
    /// Compares by bytes: two encodings of an accent are two names.
    public static func == (lhs: UserName, rhs: UserName) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }
    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
    /// Orders by bytes.
    public static func < (lhs: UserName, rhs: UserName) -> Bool { lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8) }

    /// The first invisible character of the name, such as `U+202E`; nil if there is none.
    package var hidden: String? { text.firstHidden }
}

/// The ID of a device, which is one incarnation of a client's store: 128 random bits.
public struct DeviceID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bits: Bits128

    package init(_ bits: Bits128) { self.bits = bits }

    /// Creates a random ID.
    public init(using generator: inout some RandomNumberGenerator) {
        bits = Bits128(high: generator.next(), low: generator.next())
    }

    /// Reads 32 hexadecimal digits.
    public init?(_ text: String) {
        guard let bits = Bits128(digits: text, dashes: false) else { return nil }
        self.bits = bits
    }

    /// The ID as 32 hexadecimal digits.
    public var description: String { bits.digits }
    /// Orders by numeric value.
    public static func < (lhs: DeviceID, rhs: DeviceID) -> Bool { lhs.bits < rhs.bits }
}

/// The ID of a message, chosen by the app: a UUID.
public struct MessageID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bits: Bits128

    package init(_ bits: Bits128) { self.bits = bits }

    /// Creates a UUID of version 7, which sorts by time.
    ///
    /// - Parameter milliseconds: The time in milliseconds since 1970 UTC.
    public init(at milliseconds: Int64, using generator: inout some RandomNumberGenerator) {
        // RFC 9562 §5.7: 48 bits of time, the version, random bits, the variant, random bits.
        let time = UInt64(clamping: milliseconds) & 0xFFFF_FFFF_FFFF
        bits = Bits128(
            high: time << 16 | 0x7000 | UInt64.random(in: 0...0xFFF, using: &generator),
            low: 1 << 63 | UInt64.random(in: 0..<(1 << 62), using: &generator))
    }

    /// Reads a UUID with its dashes.
    public init?(_ text: String) {
        guard let bits = Bits128(digits: text, dashes: true) else { return nil }
        self.bits = bits
    }

    /// The UUID with dashes, in lower case.
    public var description: String {
        let digits = Array(bits.digits.utf8)
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(decoding: digits[$0], as: UTF8.self) }
        return parts.joined(separator: "-")
    }
    /// Orders by numeric value: IDs of version 7 sort by time.
    public static func < (lhs: MessageID, rhs: MessageID) -> Bool { lhs.bits < rhs.bits }
}

/// A position in a room's log.
///
/// The two parts belong together: a number means nothing in another epoch.
public struct LogPosition: Hashable, Sendable, CustomStringConvertible {
    /// The incarnation of the log; 0 if there is none.
    public var epoch: UInt64
    /// The number of the entry, from 1; 0 is before the first entry.
    public var seq: Int64

    /// Creates a position from its parts.
    public init(epoch: UInt64, seq: Int64) { (self.epoch, self.seq) = (epoch, seq) }

    /// The cursor of a client that has no entries.
    public static let nowhere = LogPosition(epoch: 0, seq: 0)

    /// The position as text for logs: `58@0f3a…`.
    public var description: String { "\(seq)@\(Hexadecimal.digits(epoch))" }
}

/// 128 bits, written as hexadecimal digits.
package struct Bits128: Hashable, Comparable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// Reads exactly 32 hexadecimal digits, with the dashes of a UUID if `dashes` is true.
    package init?(digits text: String, dashes: Bool) {
        var text = text
        guard let bits = text.withUTF8({ unsafe Bits128(digits: UnsafeRawBufferPointer($0), dashes: dashes) }) else { return nil }
        self = bits
    }

    /// Reads exactly 32 hexadecimal digits, with the dashes of a UUID if `dashes` is true.
    init?(digits bytes: UnsafeRawBufferPointer, dashes: Bool) {
        func number(_ start: Int, _ end: Int) -> UInt64? { unsafe Hexadecimal.number(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) }
        if !dashes {
            guard bytes.count == 32, let high = number(0, 16), let low = number(16, 32) else { return nil }
            self.init(high: high, low: low)
        } else {
            let dash = UInt8(ascii: "-")
            guard bytes.count == 36, unsafe bytes[8] == dash && bytes[13] == dash && bytes[18] == dash && bytes[23] == dash,
                let first = number(0, 8), let second = number(9, 13), let third = number(14, 18), let fourth = number(19, 23),
                let last = number(24, 36)
            else { return nil }
            self.init(high: first << 32 | second << 16 | third, low: fourth << 48 | last)
        }
    }

    package static func < (lhs: Bits128, rhs: Bits128) -> Bool { (lhs.high, lhs.low) < (rhs.high, rhs.low) }

    /// The value as 32 hexadecimal digits in lower case.
    package var digits: String { Hexadecimal.digits(high) + Hexadecimal.digits(low) }
}

extension Unicode.Scalar {
    /// Whether this is not a control character.
    var isPlain: Bool { !(value < 0x20 || (0x7F...0x9F).contains(value)) }

    /// The Swift escape of the character: `\u{202E}`.
    package var written: String {
        let digits = String(value, radix: 16, uppercase: true)
        return #"\u{"# + (digits.count < 2 ? "0" : "") + digits + "}"
    }
}

extension StringProtocol {
    /// The text as a name on one line, with invisible characters escaped, so that different names look different.
    ///
    /// Texts keep such characters, because some scripts and emoji need them.
    package var escapedAsName: String {
        unicodeScalars.reduce(into: "") { result, scalar in result += scalar.isHidden ? scalar.written : String(scalar) }
    }
}

/// SipHash-2-4: a short keyed hash that is unpredictable without the key.
///
/// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
package struct SipHash {
    private var (v0, v1, v2, v3): (UInt64, UInt64, UInt64, UInt64)
    private var count: UInt64 = 0
    /// The bytes of an incomplete word; the first byte is the lowest.
    private var rest: UInt64 = 0

    package init(key: Bits128) {
        (v0, v1) = (key.low ^ 0x736F_6D65_7073_6575, key.high ^ 0x646F_7261_6E64_6F6D)
        (v2, v3) = (key.low ^ 0x6C79_6765_6E65_7261, key.high ^ 0x7465_6462_7974_6573)
    }

    /// Adds a byte.
    package mutating func combine(_ byte: UInt8) {
        rest |= UInt64(byte) << (8 * (count & 7))
        count &+= 1
        guard count & 7 == 0 else { return }
        compress(rest)
        rest = 0
    }

    /// Adds a word, lowest byte first; only words may have been added before.
    package mutating func combine(_ word: UInt64) {
        count &+= 8
        compress(word)
    }

    /// Returns the hash of everything that was added.
    package func finish() -> UInt64 {
        var hash = self
        hash.compress(rest | count << 56)
        hash.v2 ^= 0xFF
        for _ in 0..<4 { hash.round() }
        return hash.v0 ^ hash.v1 ^ hash.v2 ^ hash.v3
    }

    private mutating func compress(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    private mutating func round() {
        v0 &+= v1
        v2 &+= v3
        v1 = v0 ^ Self.turn(v1, 13)
        v3 = v2 ^ Self.turn(v3, 16)
        v0 = Self.turn(v0, 32)
        v2 &+= v1
        v0 &+= v3
        v1 = v2 ^ Self.turn(v1, 17)
        v3 = v0 ^ Self.turn(v3, 21)
        v2 = Self.turn(v2, 32)
    }

    private static func turn(_ word: UInt64, _ bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
}

/// A hub's proof that an entry of its log is at a cursor.
///
/// The client stores the proof with the cursor and sends it when it joins. Only the hub can make a proof, and a proof reveals nothing to
/// others. With it, the hub notices that its log has gone back.
public struct CursorProof: Hashable, Sendable, CustomStringConvertible {
    package let bits: Bits128

    package init(_ bits: Bits128) { self.bits = bits }

    /// Reads 32 hexadecimal digits.
    public init?(_ text: String) {
        guard let bits = Bits128(digits: text, dashes: false) else { return nil }
        self.bits = bits
    }

    /// The proof as 32 hexadecimal digits.
    public var description: String { bits.digits }
}
