/// Bytes that grow at their end.
@safe public struct ByteWriter: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    /// How many bytes were written.
    public var count = 0

    /// No bytes yet, but room for so many.
    public init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        unsafe base = .allocate(byteCount: self.capacity, alignment: 1)
    }

    deinit { unsafe base.deallocate() }

    /// The bytes written so far; they live until the next is written.
    @unsafe public var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

    /// Makes an array of what was written.
    public func array() -> [UInt8] { unsafe [UInt8](bytes) }

    /// Makes room for so many more bytes.
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

    /// Appends a byte and an integer, whose greatest byte goes first.
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

    /// Replaces the byte at a place that was written by a byte and an integer, and moves what follows.
    @usableFromInline mutating func widen<Number: FixedWidthInteger>(at place: Int, to first: UInt8, _ number: Number) {
        let width = MemoryLayout<Number>.size
        reserve(width)
        unsafe (base + place + 1 + width).copyMemory(from: base + place + 1, byteCount: count - place - 1)
        unsafe base.storeBytes(of: first, toByteOffset: place, as: UInt8.self)
        unsafe base.storeBytes(of: number.bigEndian, toByteOffset: place + 1, as: Number.self)
        count += width
    }

    /// Replaces the byte at a place that was written.
    @inlinable mutating func set(_ byte: UInt8, at place: Int) {
        unsafe base.storeBytes(of: byte, toByteOffset: place, as: UInt8.self)
    }
}
