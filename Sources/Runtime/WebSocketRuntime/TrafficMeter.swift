import Atomics

/// What a connection has carried, told by its one owner once a turn and read by anybody at any time.
///
/// In one block of memory, for an idle connection has one, too.
package final class TrafficMeter: Sendable {
    private typealias Word = UnsafeAtomic<Int>
    private static let count = 6
    // SAFETY: the words are atomic, and live as long as this object.
    private nonisolated(unsafe) let words: UnsafeMutablePointer<Word.Storage>

    package init() {
        words = .allocate(capacity: Self.count)
        for index in 0..<Self.count { (words + index).initialize(to: Word.Storage(0)) }
    }

    deinit {
        for index in 0..<Self.count { _ = (words + index).pointee.dispose() }
        words.deallocate()
    }

    /// The last that was told.
    package var traffic: LinkTraffic {
        LinkTraffic(bytesIn: read(0), bytesOut: read(1), messagesIn: read(2), messagesOut: read(3), payloadIn: read(4), payloadOut: read(5))
    }

    /// Tells how much it is by now.
    package func tell(_ traffic: LinkTraffic) {
        write(0, traffic.bytesIn)
        write(1, traffic.bytesOut)
        write(2, traffic.messagesIn)
        write(3, traffic.messagesOut)
        write(4, traffic.payloadIn)
        write(5, traffic.payloadOut)
    }

    @inline(__always)
    private func read(_ index: Int) -> Int { Word(at: words + index).load(ordering: .relaxed) }

    @inline(__always)
    private func write(_ index: Int, _ value: Int) { Word(at: words + index).store(value, ordering: .relaxed) }
}
