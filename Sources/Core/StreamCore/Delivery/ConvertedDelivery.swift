package import MachineCore

/// A buffer that converts values when they are pushed, and never conflates or drops those that are notes.
///
/// A note tells that values are missing, for example. In a buffer that loses values, the newest note waits apart and is delivered first.
package struct ConvertedDelivery<Value: Sendable, Item: Sendable, Output: Sendable>: DeliveryBuffer {
    private var base: any DeliveryBuffer<Item, Output>
    private let convert: @Sendable (Value) -> Item?
    private let isNote: @Sendable (Item) -> Bool
    /// Returns the output for a note that waits apart; nil if the base loses nothing.
    private let output: (@Sendable (Item) -> Output)?
    private var note: Item?
    private var notes = 0

    /// Wraps a buffer.
    ///
    /// - Parameters:
    ///   - convert: Converts a value, or returns nil to leave it out; must be quick.
    ///   - isNote: Returns whether an item is a note.
    ///   - output: Returns the output for a single note; nil if the base loses nothing.
    package init(
        _ base: any DeliveryBuffer<Item, Output>, convert: @escaping @Sendable (Value) -> Item?,
        isNote: @escaping @Sendable (Item) -> Bool = { _ in false }, output: (@Sendable (Item) -> Output)? = nil
    ) {
        (self.base, self.convert, self.isNote, self.output) = (base, convert, isNote, output)
    }

    package var counts: DeliveryCounts {
        var counts = base.counts
        counts.received += notes
        counts.delivered += note == nil ? notes : notes - 1
        return counts
    }
    package var pending: Int { base.pending + (note == nil ? 0 : 1) }
    package var isFull: Bool { base.isFull }
    package var deadline: Moment? { note == nil ? base.deadline : .start }

    package mutating func push(_ value: Value, at now: Moment) {
        guard let item = convert(value) else { return }
        guard output != nil, isNote(item) else { return base.push(item, at: now) }
        if note == nil { notes += 1 }
        note = item
    }

    package mutating func take(at now: Moment) -> Output? {
        if let output, let note {
            self.note = nil
            return output(note)
        }
        return base.take(at: now)
    }

    package mutating func finish() { base.finish() }
}
