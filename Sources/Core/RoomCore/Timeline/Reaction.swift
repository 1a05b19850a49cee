import CodecCore

/// The reactions to a message with one key.
public struct Reaction: Hashable, Sendable, Identifiable {
    private struct Mark: Hashable, Sendable {
        var seq: Int64
        var user: UserName
    }
    /// The key, 1 to 64 bytes: usually an emoji.
    public let key: String
    /// The marks, sorted by the number of the reaction.
    private var marks: [Mark] = []

    init(key: String) { self.key = key }

    /// The key, which identifies the reaction.
    public var id: String { key }
    /// The users who reacted with this key, in the order of their reactions.
    public var users: [UserName] { marks.map(\.user) }
    /// The number of users who reacted with this key.
    public var count: Int { marks.count }
    /// The number of the first reaction with this key.
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

/// A message about another message, of one of the kinds that every client knows.
enum Annotation: Hashable, Sendable {
    /// The payload replaces the payload of the other message.
    case edit
    /// The other message is no longer shown.
    case delete
    /// The user reacts to the other message with a key, or removes that reaction.
    case react(key: String, isOn: Bool)

    /// Reads an entry; nil if it is a normal message or an invalid reaction.
    ///
    /// For an invalid reaction, `isReadable` becomes false.
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

    /// The maximum length in bytes of a reaction that is parsed.
    private static let longest = 1024
}
