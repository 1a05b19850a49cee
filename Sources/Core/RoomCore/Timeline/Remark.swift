import CodecCore

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
