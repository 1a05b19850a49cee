/// The blocks of one client by clock, without gaps.
///
/// Edits cut and join blocks anywhere, so the list consists of chunks: an insertion moves a chunk's entries and not all. The clocks stand
/// apart from the blocks, because a search needs nothing else.
struct ClockIndex: Sendable {
    /// Where a block stands.
    ///
    /// It is valid until the next insertion or removal before it.
    struct Place {
        fileprivate var chunk: Int
        fileprivate var entry: Int
    }

    private struct Chunk: Sendable {
        var clocks: ContiguousArray<Int32> = []
        var blocks: ContiguousArray<Int32> = []
    }

    private static let capacity = 256
    private var chunks: ContiguousArray<Chunk> = []
    /// The first clock of each chunk.
    private var starts: ContiguousArray<Int32> = []
    private(set) var count = 0
    /// The client's next clock.
    var next: Int32 = 0
    /// The next clock before the current transaction, or −1 if the transaction has no block of the client.
    var before: Int32 = -1

    // MARK: - Searching

    /// The place of the block with this clock, which must be below ``next``.
    func place(_ clock: Int32) -> Place {
        let chunk = Self.search(starts, clock)
        return Place(chunk: chunk, entry: Self.search(chunks[chunk].clocks, clock))
    }

    /// The last entry that is not above the clock.
    private static func search(_ clocks: ContiguousArray<Int32>, _ clock: Int32) -> Int {
        var (low, high) = (0, clocks.count - 1)
        // Most searches are for what came last.
        if clocks[high] <= clock { return high }
        while low < high {
            let middle = (low &+ high &+ 1) / 2
            if clocks[middle] <= clock { low = middle } else { high = middle &- 1 }
        }
        return low
    }

    subscript(place: Place) -> Int32 { chunks[place.chunk].blocks[place.entry] }

    func clock(at place: Place) -> Int32 { chunks[place.chunk].clocks[place.entry] }

    var last: Place? { chunks.isEmpty ? nil : Place(chunk: chunks.count - 1, entry: chunks[chunks.count - 1].blocks.count - 1) }

    func place(after place: Place) -> Place? {
        if place.entry + 1 < chunks[place.chunk].blocks.count { return Place(chunk: place.chunk, entry: place.entry + 1) }
        return place.chunk + 1 < chunks.count ? Place(chunk: place.chunk + 1, entry: 0) : nil
    }

    func place(before place: Place) -> Place? {
        if place.entry > 0 { return Place(chunk: place.chunk, entry: place.entry - 1) }
        return place.chunk > 0 ? Place(chunk: place.chunk - 1, entry: chunks[place.chunk - 1].blocks.count - 1) : nil
    }

    /// The number of blocks from a place to the end.
    func count(from place: Place) -> Int {
        chunks[place.chunk].blocks.count - place.entry + chunks[(place.chunk + 1)...].reduce(0) { $0 + $1.blocks.count }
    }

    /// The blocks from a place on, or all.
    func blocks(from place: Place? = nil) -> some Sequence<Int32> {
        sequence(state: place ?? Place(chunk: 0, entry: 0)) { [chunks] place in
            guard place.chunk < chunks.count else { return nil }
            let block = chunks[place.chunk].blocks[place.entry]
            place.entry += 1
            if place.entry == chunks[place.chunk].blocks.count { place = Place(chunk: place.chunk + 1, entry: 0) }
            return block
        }
    }

    // MARK: - Changing

    mutating func append(_ block: Int32, clock: Int32) {
        count += 1
        if chunks.isEmpty || chunks[chunks.count - 1].blocks.count == Self.capacity {
            chunks.append(Chunk())
            starts.append(clock)
        }
        chunks[chunks.count - 1].clocks.append(clock)
        chunks[chunks.count - 1].blocks.append(block)
    }

    mutating func insert(_ block: Int32, clock: Int32, after place: Place) {
        count += 1
        chunks[place.chunk].clocks.insert(clock, at: place.entry + 1)
        chunks[place.chunk].blocks.insert(block, at: place.entry + 1)
        guard chunks[place.chunk].blocks.count > Self.capacity else { return }
        let half = Self.capacity / 2
        let rest = Chunk(
            clocks: ContiguousArray(chunks[place.chunk].clocks[half...]), blocks: ContiguousArray(chunks[place.chunk].blocks[half...]))
        chunks[place.chunk].clocks.removeSubrange(half...)
        chunks[place.chunk].blocks.removeSubrange(half...)
        starts.insert(rest.clocks[0], at: place.chunk + 1)
        chunks.insert(rest, at: place.chunk + 1)
    }

    /// Removes a block that was joined with the one before it.
    mutating func remove(at place: Place) {
        count -= 1
        chunks[place.chunk].clocks.remove(at: place.entry)
        chunks[place.chunk].blocks.remove(at: place.entry)
        if chunks[place.chunk].blocks.isEmpty {
            chunks.remove(at: place.chunk)
            starts.remove(at: place.chunk)
        } else if place.entry == 0 {
            starts[place.chunk] = chunks[place.chunk].clocks[0]
        }
    }
}
