import DequeModule
package import WebSocketCore

/// A batch of received elements, in order.
///
/// Short messages are stored as bytes in one block of memory, and become messages when they are taken, one at a time. So the consumer
/// finds each in the same warm memory, and frees it on the thread that allocated it.
package struct ReceivedBatch: Sendable {
    /// The maximum size of a short message; longer messages are kept as they are.
    @inlinable package static var longestShort: Int { 4096 }
    /// The maximum size of a batch's memory; a message that does not fit begins another batch.
    private static let largest = 32 * 1024

    // SAFETY: only the transport writes; a taker of the batch only reads, and later writes lie behind what it reads.
    private nonisolated(unsafe) var memory: BatchMemory?
    private var capacity = 0
    private var written = 0
    private var read = 0
    /// The elements that are not in `memory`, where a marker stands for each of them.
    private var others: Deque<Received> = []
    /// The number of elements.
    @usableFromInline package private(set) var count = 0
    /// The size in bytes, plus the overhead of small messages.
    package private(set) var cost = 0

    /// Creates an empty batch.
    package init() {}

    /// Creates a batch of the given elements.
    package init(_ elements: some Sequence<Received>) { for element in elements { append(element) } }

    @inlinable package var isEmpty: Bool { count == 0 }

    /// Adds a short message; returns false if there is no room for it.
    ///
    /// - Parameter expected: The number of bytes that are likely to follow, including this message.
    package mutating func append(_ frame: LoneFrame, expecting expected: Int) throws(ProtocolViolation) -> Bool {
        let length = frame.payload.count
        guard let place = place(for: BatchEntry.size + length, expecting: expected) else { return false }
        let isASCII = try frame.unmask(into: place + BatchEntry.size)
        BatchEntry(frame.kind, isASCII: isASCII, length: length).write(to: place)
        written += BatchEntry.size + length
        count += 1
        cost += length + 64
        return true
    }

    /// Adds an element.
    package mutating func append(_ element: Received) {
        if memory != nil, let place = place(for: BatchEntry.size, expecting: 0) {
            BatchEntry.other.write(to: place)
            written += BatchEntry.size
        } else if memory != nil {
            moveAll()
        }
        others.append(element)
        count += 1
        cost += element.cost
    }

    /// Removes and returns the first element.
    package mutating func popFirst() -> Received? {
        if let message = popShort() { return .message(message) }
        guard count > 0 else { return nil }
        count -= 1
        if memory != nil, read < written { read += BatchEntry.size }  // The marker of the element.
        let element = others.popFirst()
        cost -= element?.cost ?? 0
        return element
    }

    /// Removes and returns the first element if it is a short message in memory; otherwise returns nil.
    package mutating func popShort() -> Message? {
        guard let memory, read < written else { return nil }
        let entry = BatchEntry(readFrom: memory.bytes + read)
        guard !entry.isOther else { return nil }
        let payload = UnsafeRawBufferPointer(start: memory.bytes + read + BatchEntry.size, count: entry.length)
        removeShort(entry)
        return Message(entry.kind, checked: payload, isASCII: entry.isASCII)
    }

    /// Lends the bytes of each short message to `body` and removes it, up to the first element that is not in memory.
    package mutating func lendShort<Failure: Error>(_ body: (MessageKind, RawSpan) throws(Failure) -> Void) throws(Failure) {
        guard let memory else { return }
        // Read once for all messages.
        let bytes = memory.bytes
        defer { withExtendedLifetime(memory) {} }
        while read < written {
            let entry = BatchEntry(readFrom: bytes + read)
            if entry.isOther { return }
            let payload = UnsafeRawBufferPointer(start: bytes + read + BatchEntry.size, count: entry.length)
            // Removed before it is lent: a message at which `body` throws is not lent again.
            removeShort(entry)
            try body(entry.kind, payload.bytes)
        }
    }

    /// Skips the next short message.
    @inline(__always)
    private mutating func removeShort(_ entry: BatchEntry) {
        read += BatchEntry.size + entry.length
        count -= 1
        cost -= entry.length + 64
    }

    /// Shrinks memory that will not be filled, so that a waiting batch does not use more than its cost.
    package mutating func compact() {
        guard let memory, capacity - written > cost else { return }
        let exact = BatchMemory.make(capacity: written)
        exact.bytes.copyMemory(from: memory.bytes, byteCount: written)
        (self.memory, capacity) = (exact, written)
    }

    /// Returns the place of the next bytes; nil if they do not fit.
    private mutating func place(for length: Int, expecting expected: Int) -> UnsafeMutableRawPointer? {
        if let memory { return capacity - written >= length ? memory.bytes + written : nil }
        // The elements before it are not in memory and have no markers there.
        guard others.isEmpty else { return nil }
        capacity = max(length, min(expected, Self.largest))
        let memory = BatchMemory.make(capacity: capacity)
        self.memory = memory
        return memory.bytes
    }

    /// Moves all elements out of the memory, which is full.
    private mutating func moveAll() {
        var all: Deque<Received> = []
        let (count, cost) = (count, cost)
        while let element = popFirst() { all.append(element) }
        self = ReceivedBatch()
        (others, self.count, self.cost) = (all, count, cost)
    }
}

/// The header of a short message in the memory of a batch: its length and its kind.
private struct BatchEntry {
    static let size = 4
    static let other = BatchEntry(word: .max)
    private let word: UInt32

    private init(word: UInt32) { self.word = word }

    init(_ kind: MessageKind, isASCII: Bool, length: Int) {
        word = UInt32(length) | (kind == .text ? 1 << 30 : 0) | (isASCII ? 1 << 29 : 0)
    }

    init(readFrom place: UnsafeMutableRawPointer) { word = place.loadUnaligned(as: UInt32.self) }

    func write(to place: UnsafeMutableRawPointer) { place.storeBytes(of: word, as: UInt32.self) }

    var isOther: Bool { word == .max }
    var kind: MessageKind { word & 1 << 30 == 0 ? .binary : .text }
    var isASCII: Bool { word & 1 << 29 != 0 }
    var length: Int { Int(word & 0x1FFF_FFFF) }
}

/// The memory of a batch.
private final class BatchMemory: ManagedBuffer<Void, UInt8> {
    static func make(capacity: Int) -> BatchMemory {
        unsafeDowncast(create(minimumCapacity: capacity) { _ in }, to: BatchMemory.self)
    }

    var bytes: UnsafeMutableRawPointer { withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) } }
}
