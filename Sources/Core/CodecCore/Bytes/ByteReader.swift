/// A cursor over borrowed bytes that never reads beyond their end.
@safe public struct ByteReader {
    @usableFromInline let base: UnsafeRawPointer
    /// The end of the bytes.
    public let end: Int
    /// The position of the next byte.
    public var position: Int

    /// Creates a reader of these bytes, which must stay valid while the reader is used.
    @unsafe @inlinable public init(_ bytes: UnsafeRawBufferPointer, from position: Int = 0) {
        // An empty buffer may have no address; no byte of it is ever read.
        unsafe base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
        end = bytes.count
        self.position = min(max(position, 0), bytes.count)
    }

    /// The number of remaining bytes.
    @inlinable public var left: Int { end &- position }

    /// Moves to a position, limited to the range of the bytes.
    @inlinable public mutating func move(to place: Int) { position = min(max(place, 0), end) }

    /// Returns the next byte without consuming it.
    @inlinable public func peek() -> UInt8? {
        position < end ? unsafe base.load(fromByteOffset: position, as: UInt8.self) : nil
    }

    /// Reads the next byte.
    @inlinable public mutating func byte() throws(CodecError) -> UInt8 {
        guard position < end else { throw CodecError(.truncated, at: position) }
        defer { position &+= 1 }
        return unsafe base.load(fromByteOffset: position, as: UInt8.self)
    }

    /// Reads an integer in big-endian order.
    @inlinable public mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) throws(CodecError) -> Number {
        let width = MemoryLayout<Number>.size
        guard left >= width else { throw CodecError(.truncated, at: end) }
        defer { position &+= width }
        return Number(bigEndian: unsafe base.loadUnaligned(fromByteOffset: position, as: Number.self))
    }

    /// Skips this many bytes.
    @inlinable public mutating func skip(_ count: Int) throws(CodecError) {
        guard count >= 0, left >= count else { throw CodecError(.truncated, at: end) }
        position &+= count
    }

    /// Returns the bytes between two positions, which are limited to the range of the bytes.
    @unsafe @inlinable public func bytes(from start: Int, to stop: Int) -> UnsafeRawBufferPointer {
        let first = min(max(start, 0), end)
        return unsafe UnsafeRawBufferPointer(start: base + first, count: min(max(stop, first), end) &- first)
    }

    /// Reads this many bytes, which stay valid as long as those of the reader.
    @unsafe @inlinable public mutating func take(_ count: Int) throws(CodecError) -> UnsafeRawBufferPointer {
        guard count >= 0, left >= count else { throw CodecError(.truncated, at: end) }
        defer { position &+= count }
        return unsafe UnsafeRawBufferPointer(start: base + position, count: count)
    }
}

/// A growing byte buffer.
@safe public struct ByteWriter: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    /// The number of bytes written.
    public var count = 0

    /// Creates an empty buffer with this capacity.
    public init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        unsafe base = .allocate(byteCount: self.capacity, alignment: 1)
    }

    deinit { unsafe base.deallocate() }

    /// The bytes written so far.
    ///
    /// They are valid until the next write.
    @unsafe public var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

    /// Returns a copy of the written bytes.
    public func array() -> [UInt8] { unsafe [UInt8](bytes) }

    /// Reserves space for this many more bytes.
    @inlinable mutating func reserve(_ more: Int) {
        if capacity &- count < more { grow(more) }
    }

    @usableFromInline mutating func grow(_ more: Int) {
        let wider = max(capacity * 2, count + more)
        let place = UnsafeMutableRawPointer.allocate(byteCount: wider, alignment: 1)
        unsafe place.copyMemory(from: base, byteCount: count)
        unsafe base.deallocate()
        unsafe base = place
        capacity = wider
    }

    /// Appends a byte.
    @inlinable public mutating func append(_ byte: UInt8) {
        reserve(1)
        unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count &+= 1
    }

    /// Appends a byte and an integer in big-endian order.
    @inlinable public mutating func append<Number: FixedWidthInteger>(_ first: UInt8, _ number: Number) {
        let width = 1 &+ MemoryLayout<Number>.size
        reserve(width)
        unsafe base.storeBytes(of: first, toByteOffset: count, as: UInt8.self)
        unsafe base.storeBytes(of: number.bigEndian, toByteOffset: count &+ 1, as: Number.self)
        count &+= width
    }

    /// Appends bytes.
    @inlinable public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        let more = bytes.count
        reserve(more)
        unsafe (base + count).copyMemory(from: start, byteCount: more)
        count &+= more
    }

    /// Appends bytes.
    package mutating func append(all bytes: [UInt8]) { unsafe bytes.withUnsafeBytes { unsafe append($0) } }

    /// Replaces a written byte by a byte and an integer, and moves the bytes after it.
    @usableFromInline mutating func widen<Number: FixedWidthInteger>(at place: Int, to first: UInt8, _ number: Number) {
        let width = MemoryLayout<Number>.size
        reserve(width)
        unsafe (base + place + 1 + width).copyMemory(from: base + place + 1, byteCount: count - place - 1)
        unsafe base.storeBytes(of: first, toByteOffset: place, as: UInt8.self)
        unsafe base.storeBytes(of: number.bigEndian, toByteOffset: place + 1, as: Number.self)
        count += width
    }

    /// Replaces a written byte.
    @inlinable mutating func set(_ byte: UInt8, at place: Int) {
        unsafe base.storeBytes(of: byte, toByteOffset: place, as: UInt8.self)
    }
}

/// An error in encoded data and its position, or the reason why a value cannot be encoded.
public struct CodecError: Error, Hashable, Sendable {
    /// The kind of error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: UInt8 {
            case truncated, malformed, invalidText, tooDeep, tooLarge, trailingBytes, overflow, unsupported
        }
        private let kind: Kind

        /// The data ends before the value is complete.
        public static let truncated = Code(kind: .truncated)
        /// A byte is not allowed at its position.
        public static let malformed = Code(kind: .malformed)
        /// A text is not valid UTF-8.
        public static let invalidText = Code(kind: .invalidText)
        /// Values are nested deeper than the limit allows.
        public static let tooDeep = Code(kind: .tooDeep)
        /// The data has more bytes than the limit allows.
        public static let tooLarge = Code(kind: .tooLarge)
        /// Further bytes follow the value.
        public static let trailingBytes = Code(kind: .trailingBytes)
        /// A number is too large for its type.
        public static let overflow = Code(kind: .overflow)
        /// The format has no such value, or this library does not support it.
        public static let unsupported = Code(kind: .unsupported)

        /// The error in words.
        public var description: String {
            switch kind {
            case .truncated: "the bytes end before the value does"
            case .malformed: "a byte that may not stand here"
            case .invalidText: "a text that is not valid UTF-8"
            case .tooDeep: "values lie too deep in one another"
            case .tooLarge: "too many bytes"
            case .trailingBytes: "bytes follow the value"
            case .overflow: "a number is too large"
            case .unsupported: "the format has no such value"
            }
        }
    }

    /// The kind of error.
    public let code: Code
    /// The position of the byte, from 0.
    ///
    /// For an encoding error, the number of bytes written before it.
    public let offset: Int

    /// Creates an error with its kind and position.
    public init(_ code: Code, at offset: Int) { (self.code, self.offset) = (code, offset) }
}

extension CodecError: CustomStringConvertible {
    /// The error in words, and its position.
    public var description: String { "\(code), at byte \(offset)" }
}

/// Limits for decoding data from a peer.
public struct CodecLimits: Hashable, Sendable {
    /// The maximum nesting depth of values; a scalar alone has depth 0.
    ///
    /// Each level uses stack space of the thread, so set it no higher than the data requires.
    public var maximumDepth: Int
    /// The maximum number of bytes.
    public var maximumBytes: Int

    /// Creates limits; 128 levels and 64 MiB by default.
    public init(maximumDepth: Int = 128, maximumBytes: Int = 64 << 20) {
        (self.maximumDepth, self.maximumBytes) = (maximumDepth, maximumBytes)
    }

    /// The default limits: 128 levels and 64 MiB.
    public static let standard = CodecLimits()
}
