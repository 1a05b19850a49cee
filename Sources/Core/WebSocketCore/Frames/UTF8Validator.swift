/// Validates a byte stream as UTF-8, piece by piece (RFC 3629).
///
/// Overlong forms, surrogates and scalars above U+10FFFF are rejected at the first byte that makes them invalid.
public struct UTF8Validator: Hashable, Sendable {
    /// The number of continuation bytes missing from the last sequence.
    private var missing: UInt8 = 0
    /// The range of the next continuation byte: narrower than 80–BF after E0, ED, F0 and F4.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    /// Whether all bytes so far are ASCII.
    public private(set) var isASCII = true

    /// Creates a validator that has seen nothing.
    public init() {}

    /// Whether the bytes so far end with a complete character.
    public var isComplete: Bool { missing == 0 }

    /// Validates the next bytes of the stream; returns false if they contain a byte that is not valid UTF-8 there.
    ///
    /// An incomplete character at the end is not an error. After false, the validator must not be used any more.
    public mutating func validate(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        let count = bytes.count
        var offset = 0
        while missing > 0, offset < count {
            guard step(unsafe base.load(fromByteOffset: offset, as: UInt8.self)) else { return false }
            offset &+= 1
        }
        offset = unsafe Self.skipASCII(base, from: offset, to: count)
        while count &- offset >= 4 {
            let word = UInt32(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            switch word & 0x80 == 0 ? 1 : Self.sequenceLength(word) {
            case 0: return false
            case 1 where word & 0x8080_8080 == 0: offset = unsafe Self.skipASCII(base, from: offset &+ 4, to: count)
            case 1: offset &+= (word & 0x8080_8080).trailingZeroBitCount &>> 3
            case let length: (offset, isASCII) = (offset &+ length, false)
            }
        }
        while offset < count {
            guard step(unsafe base.load(fromByteOffset: offset, as: UInt8.self)) else { return false }
            offset &+= 1
        }
        return true
    }

    /// Returns the offset of the first non-ASCII byte, or of the last few bytes.
    private static func skipASCII(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var offset = start
        while end &- offset >= 32 {
            let block = unsafe base.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
            guard (block.x | block.y | block.z | block.w) & 0x8080_8080_8080_8080 == 0 else { break }
            offset &+= 32
        }
        while end &- offset >= 8 {
            let word = UInt64(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let high = word & 0x8080_8080_8080_8080
            guard high == 0 else { return offset &+ high.trailingZeroBitCount &>> 3 }
            offset &+= 8
        }
        return offset
    }

    /// Returns the length of the multi-byte sequence in `word`, first byte lowest; 0 if it is invalid.
    private static func sequenceLength(_ word: UInt32) -> Int {
        // First the bits that all sequences of a length share, then the bits that identify the forbidden ones.
        if word & 0xC0E0 == 0x80C0 { return word & 0x1E != 0 ? 2 : 0 }  // C0, C1: overlong
        if word & 0xC0_C0F0 == 0x80_80E0 {
            let rest = word & 0x200F
            return rest != 0 && rest != 0x200D ? 3 : 0  // E0 80–9F: overlong; ED A0–BF: surrogates
        }
        if word & 0xC0C0_C0F8 == 0x8080_80F0 {
            let (lead, next) = (word & 0x07, word & 0x3000)
            return (lead == 0 ? next != 0 : lead < 4 || lead == 4 && next == 0) ? 4 : 0  // F0 80–8F: overlong; F4 90: > U+10FFFF
        }
        return 0
    }

    private mutating func step(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard lowest <= byte, byte <= highest else { return false }
            (missing, lowest, highest) = (missing &- 1, 0x80, 0xBF)
            return true
        }
        if byte < 0x80 { return true }
        isASCII = false
        switch byte {
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, lowest) = (2, 0xA0)
        case 0xED: (missing, highest) = (2, 0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, lowest) = (3, 0x90)
        case 0xF1...0xF3: missing = 3
        case 0xF4: (missing, highest) = (3, 0x8F)
        default: return false
        }
        return true
    }
}

extension String {
    /// Creates a string from bytes that are known to be UTF-8.
    ///
    /// Skips a second validation if the standard library allows that.
    init(validated bytes: UnsafeRawBufferPointer, isASCII: Bool) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            let span = unsafe UTF8Span(unchecked: bytes.bindMemory(to: UInt8.self).span, isKnownASCII: isASCII)
            self = String(copying: span)
        } else {
            self = unsafe String(decoding: bytes, as: UTF8.self)
        }
    }
}
