import CodecCore
import MachineCore

/// The name of a room: 1 to 128 bytes of UTF-8 without control characters.
public struct RoomName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name as text.
    public let text: String

    /// Takes a name; nil if it is empty, longer than 128 bytes, or holds a control character.
    public init?(_ text: String) {
        guard (1...RoomsLimits.nameLength).contains(text.utf8.count), text.unicodeScalars.allSatisfy(\.isPlain) else { return nil }
        self.text = text
    }

    /// The name as text.
    public var description: String { text }
    /// By their bytes, as everywhere: two ways to write an accent are two names.
    public static func == (lhs: RoomName, rhs: RoomName) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }
    /// By its bytes.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
    /// By their bytes.
    public static func < (lhs: RoomName, rhs: RoomName) -> Bool { lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8) }
}

/// Who speaks, as the hub knows it from a token: 1 to 128 bytes of UTF-8 without control characters.
public struct UserName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name as text.
    public let text: String

    /// Takes a name; nil if it is empty, longer than 128 bytes, or holds a control character.
    public init?(_ text: String) {
        guard (1...RoomsLimits.nameLength).contains(text.utf8.count), text.unicodeScalars.allSatisfy(\.isPlain) else { return nil }
        self.text = text
    }

    /// The name as text.
    public var description: String { text }
    /// By their bytes, as everywhere: two ways to write an accent are two names.
    public static func == (lhs: UserName, rhs: UserName) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }
    /// By its bytes.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
    /// By their bytes.
    public static func < (lhs: UserName, rhs: UserName) -> Bool { lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8) }

    /// The first character of it that nobody sees, such as `U+202E`; nil if all are seen.
    package var hidden: String? { text.firstHidden }
}

/// One incarnation of a client's store: 128 random bits.
public struct DeviceID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bits: Bits128

    package init(_ bits: Bits128) { self.bits = bits }

    /// Draws one.
    public init(using generator: inout some RandomNumberGenerator) {
        bits = Bits128(high: generator.next(), low: generator.next())
    }

    /// Reads 32 hexadecimal digits.
    public init?(_ text: String) {
        guard let bits = Bits128(digits: text, dashes: false) else { return nil }
        self.bits = bits
    }

    /// 32 hexadecimal digits.
    public var description: String { bits.digits }
    /// As numbers.
    public static func < (lhs: DeviceID, rhs: DeviceID) -> Bool { lhs.bits < rhs.bits }
}

/// An app's name for a message it sends: a UUID.
public struct MessageID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bits: Bits128

    package init(_ bits: Bits128) { self.bits = bits }

    /// Draws a UUID of version 7, which sorts by time.
    ///
    /// - Parameter milliseconds: Since 1970 UTC.
    public init(at milliseconds: Int64, using generator: inout some RandomNumberGenerator) {
        // RFC 9562 §5.7: 48 bits of time, the version, chance, the variant, chance.
        let time = UInt64(clamping: milliseconds) & 0xFFFF_FFFF_FFFF
        bits = Bits128(
            high: time << 16 | 0x7000 | UInt64.random(in: 0...0xFFF, using: &generator),
            low: 1 << 63 | UInt64.random(in: 0..<(1 << 62), using: &generator))
    }

    /// Reads a UUID, with its dashes.
    public init?(_ text: String) {
        guard let bits = Bits128(digits: text, dashes: true) else { return nil }
        self.bits = bits
    }

    /// With dashes, lower case.
    public var description: String {
        let digits = Array(bits.digits.utf8)
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(decoding: digits[$0], as: UTF8.self) }
        return parts.joined(separator: "-")
    }
    /// As numbers: those of version 7 by their time.
    public static func < (lhs: MessageID, rhs: MessageID) -> Bool { lhs.bits < rhs.bits }
}

/// A place in a room's log.
///
/// Its two parts are one value: a number means nothing in another epoch.
public struct LogPosition: Hashable, Sendable, CustomStringConvertible {
    /// The incarnation of the log; 0 of nothing.
    public var epoch: UInt64
    /// The number of the entry, from 1; 0 before the first.
    public var seq: Int64

    /// A place in the log.
    public init(epoch: UInt64, seq: Int64) { (self.epoch, self.seq) = (epoch, seq) }

    /// The cursor of one who has nothing.
    public static let nowhere = LogPosition(epoch: 0, seq: 0)

    /// For logs: `58@0f3a…`.
    public var description: String { "\(seq)@\(Hexadecimal.digits(epoch))" }
}

/// 128 bits, written as hexadecimal digits.
package struct Bits128: Hashable, Comparable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// Reads exactly 32 hexadecimal digits, with the dashes of a UUID if they must stand there.
    package init?(digits text: String, dashes: Bool) {
        var text = text
        guard let bits = text.withUTF8({ unsafe Bits128(digits: UnsafeRawBufferPointer($0), dashes: dashes) }) else { return nil }
        self = bits
    }

    /// Reads exactly 32 hexadecimal digits, with the dashes of a UUID if they must stand there.
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

    /// 32 digits, lower case.
    package var digits: String { Hexadecimal.digits(high) + Hexadecimal.digits(low) }
}

extension Unicode.Scalar {
    /// Whether it is no control character.
    var isPlain: Bool { !(value < 0x20 || (0x7F...0x9F).contains(value)) }

    /// The escape that stands for it, as Swift writes it: `\u{202E}`.
    package var written: String {
        let digits = String(value, radix: 16, uppercase: true)
        return #"\u{"# + (digits.count < 2 ? "0" : "") + digits + "}"
    }
}

extension StringProtocol {
    /// A name on one line, with what nobody would see written out: two names that look the same are the same.
    ///
    /// In texts such characters stay, for some scripts and emoji need them.
    package var escapedAsName: String {
        unicodeScalars.reduce(into: "") { result, scalar in result += scalar.isHidden ? scalar.written : String(scalar) }
    }
}
