import CodecCore

extension WAMPArguments {
    /// How many bytes they take in a message, about.
    var weight: Int {
        switch storage {
        case .raw(let raw): raw.bytes.count
        case .values(let list, let keywords): Value.array(list).weight + Value.map(keywords).weight
        }
    }
}

extension Value {
    fileprivate var weight: Int {
        switch self {
        case .null, .bool, .integer, .unsigned, .float, .timestamp: 8
        case .text(let text): 8 + text.utf8.count
        case .bytes(let bytes), .extension(_, let bytes): 8 + bytes.count
        case .array(let items): items.reduce(8) { $0 + $1.weight }
        case .map(let map): map.entries.reduce(8) { $0 + $1.key.weight + $1.value.weight }
        case .tagged(_, let value): 8 + value.weight
        }
    }
}
