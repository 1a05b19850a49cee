/// How users have reacted to a message with one key.
public struct Reaction: Hashable, Sendable, Identifiable {
    private struct Mark: Hashable, Sendable {
        var seq: Int64
        var user: UserName
    }
    /// What they reacted with, 1 to 64 bytes: an emoji, most of the time.
    public let key: String
    /// By the number of their reaction.
    private var marks: [Mark] = []

    init(key: String) { self.key = key }

    /// The key.
    public var id: String { key }
    /// Who reacted so, in the order in which they did.
    public var users: [UserName] { marks.map(\.user) }
    /// How many did.
    public var count: Int { marks.count }
    /// The number of the first of them.
    var first: Int64 { marks.first?.seq ?? .max }

    private func place(of seq: Int64) -> Int {
        var (low, high) = (0, marks.count)
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].seq < seq { low = middle + 1 } else { high = middle }
        }
        return low
    }

    mutating func add(_ user: UserName, seq: Int64) { marks.insert(Mark(seq: seq, user: user), at: place(of: seq)) }

    mutating func remove(seq: Int64) {
        let place = place(of: seq)
        if place < marks.count, marks[place].seq == seq { marks.remove(at: place) }
    }
}
