import CodecCore

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

/// What a message says about another, if it is one of the kinds that every reader knows.
enum Remark: Hashable, Sendable {
    /// Its payload takes the other's place.
    case edit
    /// The other is to be seen no more.
    case delete
    /// Its user reacts to the other with a key, or takes that back.
    case react(key: String, isOn: Bool)

    /// Reads an entry; nil if it is a message of its own, `unreadable` if it is a reaction that makes no sense.
    init?(_ entry: Entry, isReadable: inout Bool) {
        isReadable = true
        switch entry.type {
        case "holdfast.edit": self = .edit
        case "holdfast.delete": self = .delete
        case "holdfast.react":
            guard case .json(let bytes) = entry.payload, bytes.count <= Self.longest,
                let value = unsafe bytes.withUnsafeBytes({ bytes in
                    unsafe try? Value(json: RawSpan(_unsafeBytes: bytes), limits: CodecLimits(maximumDepth: 8, maximumBytes: Self.longest))
                }),
                let key = value["key"]?.string, (1...RoomsLimits.typeLength).contains(key.utf8.count)
            else {
                isReadable = false
                return nil
            }
            self = .react(key: key, isOn: value["on"]?.bool ?? true)
        default: return nil
        }
    }

    /// Bytes of a reaction that are looked at.
    private static let longest = 1024
}
