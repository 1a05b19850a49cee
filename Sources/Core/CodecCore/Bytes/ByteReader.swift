/// A place in bytes that are lent; nothing is ever read beyond their end.
@safe public struct ByteReader {
    @usableFromInline let base: UnsafeRawPointer
    /// Where the bytes end.
    public let end: Int
    /// Where the next byte is read.
    public var position: Int

    /// Reads these bytes, which must live as long as the reader is used.
    @unsafe @inlinable public init(_ bytes: UnsafeRawBufferPointer, from position: Int = 0) {
        // No bytes may come without an address; of those, none is read.
        unsafe base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
        end = bytes.count
        self.position = min(max(position, 0), bytes.count)
    }

    /// How many bytes are left.
    @inlinable public var left: Int { end &- position }

    /// Goes to a place between the first byte and the end.
    @inlinable public mutating func move(to place: Int) { position = min(max(place, 0), end) }

    /// The next byte, which stays the next.
    @inlinable public func peek() -> UInt8? {
        position < end ? unsafe base.load(fromByteOffset: position, as: UInt8.self) : nil
    }

    /// Takes the next byte.
    @inlinable public mutating func byte() throws(CodecError) -> UInt8 {
        guard position < end else { throw CodecError(.truncated, at: position) }
        defer { position &+= 1 }
        return unsafe base.load(fromByteOffset: position, as: UInt8.self)
    }

    /// Takes an integer, its greatest byte first.
    @inlinable public mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) throws(CodecError) -> Number {
        let width = MemoryLayout<Number>.size
        guard left >= width else { throw CodecError(.truncated, at: end) }
        defer { position &+= width }
        return Number(bigEndian: unsafe base.loadUnaligned(fromByteOffset: position, as: Number.self))
    }

    /// Goes past this many bytes.
    @inlinable public mutating func skip(_ count: Int) throws(CodecError) {
        guard count >= 0, left >= count else { throw CodecError(.truncated, at: end) }
        position &+= count
    }

    /// The bytes from one place to another; both are brought between the first byte and the end.
    @unsafe @inlinable public func bytes(from start: Int, to stop: Int) -> UnsafeRawBufferPointer {
        let first = min(max(start, 0), end)
        return unsafe UnsafeRawBufferPointer(start: base + first, count: min(max(stop, first), end) &- first)
    }

    /// Takes this many bytes; they live as long as those of the reader.
    @unsafe @inlinable public mutating func take(_ count: Int) throws(CodecError) -> UnsafeRawBufferPointer {
        guard count >= 0, left >= count else { throw CodecError(.truncated, at: end) }
        defer { position &+= count }
        return unsafe UnsafeRawBufferPointer(start: base + position, count: count)
    }
}
