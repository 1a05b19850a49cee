/// Blocks of one list of which the index is known, so that a search for an index begins near its end (Yjs: ArraySearchMarker).
///
/// They serve the list that was edited last. A block with a marker says so in ``Block/hasMarker``.
struct SearchMarkers: Sendable {
    /// The most markers.
    ///
    /// Above, every second one goes.
    private static let maximum = 1024
    private(set) var branch: Int32 = -1
    private(set) var blocks: ContiguousArray<Int32> = []
    /// The number of visible units before each block.
    private var indices: ContiguousArray<Int32> = []
    /// The marks that apply before each block.
    private var marks: ContiguousArray<MarkList> = []
    /// A search that goes over more blocks than this leaves a marker.
    private(set) var spacing = 32

    var isEmpty: Bool { blocks.isEmpty }

    /// The last marker with fewer units before it than `index`.
    func number(before index: Int32) -> Int? {
        var (low, high) = (0, indices.count)
        while low < high {
            let middle = (low &+ high) / 2
            if indices[middle] < index { low = middle &+ 1 } else { high = middle }
        }
        return low > 0 ? low - 1 : nil
    }

    subscript(number: Int) -> (block: Int32, index: Int32, marks: MarkList) { (blocks[number], indices[number], marks[number]) }

    /// The number of a block's marker.
    func number(of block: Int32) -> Int? { blocks.firstIndex(of: block) }

    /// Adds a marker behind another, or before all.
    ///
    /// Returns the blocks whose markers go.
    mutating func insert(_ block: Int32, index: Int32, marks: MarkList, after number: Int?) -> [Int32] {
        let place = number.map { $0 + 1 } ?? 0
        blocks.insert(block, at: place)
        indices.insert(index, at: place)
        self.marks.insert(marks, at: place)
        guard blocks.count > Self.maximum else { return [] }
        let dropped = stride(from: 1, to: blocks.count, by: 2).map { blocks[$0] }
        blocks = ContiguousArray(stride(from: 0, to: blocks.count, by: 2).map { blocks[$0] })
        indices = ContiguousArray(stride(from: 0, to: indices.count, by: 2).map { indices[$0] })
        self.marks = ContiguousArray(stride(from: 0, to: self.marks.count, by: 2).map { self.marks[$0] })
        spacing *= 2
        return dropped
    }

    /// Notes that units came or went behind a marker, or before all.
    mutating func shift(after number: Int?, by units: Int32) {
        for place in (number.map { $0 + 1 } ?? 0)..<indices.count { indices[place] &+= units }
    }

    mutating func remove(_ number: Int) {
        blocks.remove(at: number)
        indices.remove(at: number)
        marks.remove(at: number)
    }

    /// Drops the markers behind one, or all, and returns their blocks.
    mutating func removeAll(after number: Int?) -> ArraySlice<Int32> {
        let place = number.map { $0 + 1 } ?? 0, dropped = blocks[place...]
        blocks.removeSubrange(place...)
        indices.removeSubrange(place...)
        marks.removeSubrange(place...)
        return dropped
    }

    /// Serves another list from now on.
    ///
    /// Returns the blocks whose markers go.
    mutating func serve(_ branch: Int32) -> ContiguousArray<Int32> {
        let dropped = blocks
        self = SearchMarkers()
        self.branch = branch
        return dropped
    }
}

extension Store {
    /// Serves the markers of another list, or of none with −1.
    mutating func serveMarkers(_ branch: Int32) {
        for block in markers.serve(branch) { blocks[Int(block)].hasMarker = false }
    }

    /// Keeps the markers true when units come or go at a block of their list.
    mutating func shiftMarkers(at block: Int32, by units: Int32) {
        guard units != 0, !markers.isEmpty else { return }
        guard let number = markerNumber(atOrBefore: block) else { return serveMarkers(-1) }
        markers.shift(after: number, by: units)
    }

    /// Drops the markers behind a block, because other marks apply there now.
    mutating func dropMarkers(behind block: Int32) {
        guard !markers.isEmpty else { return }
        guard let number = markerNumber(atOrBefore: block) else { return serveMarkers(-1) }
        for block in markers.removeAll(after: number) { blocks[Int(block)].hasMarker = false }
    }

    /// The last marker at or before a block: `.some(nil)` if there is none, nil if it is too far away.
    private func markerNumber(atOrBefore block: Int32) -> Int?? {
        var block = block, steps = 0
        while block >= 0 {
            if blocks[Int(block)].hasMarker { return .some(markers.number(of: block)) }
            block = blocks[Int(block)].left
            steps += 1
            if steps > 64 * markers.spacing { return nil }
        }
        return .some(nil)
    }
}
