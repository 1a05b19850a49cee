/// Memory of long messages that are over, kept for some to come.
///
/// Memory in use before is cheaper than new. The newest is used first.
struct Spares<Memory> {
    private static var mostBytes: Int { 8 << 20 }
    private static var mostCount: Int { 16 }
    private var kept: [(memory: Memory, bytes: Int)] = []

    /// Keeps some memory of this size; what was kept longest may have to go for it.
    mutating func give(_ memory: consuming Memory, bytes: Int) {
        guard bytes > 0, bytes <= Self.mostBytes else { return }
        var total = kept.reduce(bytes) { $0 + $1.bytes }
        while !kept.isEmpty, total > Self.mostBytes || kept.count == Self.mostCount { total -= kept.removeFirst().bytes }
        kept.append((memory, bytes))
    }

    /// Hands out memory of such a size, if there is some that is ready for use.
    mutating func take(_ bytes: ClosedRange<Int>, ifReady isReady: (inout Memory) -> Bool = { _ in true }) -> Memory? {
        for index in kept.indices.reversed() where bytes.contains(kept[index].bytes) {
            if isReady(&kept[index].memory) { return kept.remove(at: index).memory }
        }
        return nil
    }
}
