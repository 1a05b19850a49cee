import CodecCore

extension WAMPArguments {
    /// The approximate number of bytes in a message.
    package var weight: Int {
        switch storage {
        case .raw(let raw): raw.bytes.count
        case .values(let list, let keywords): Value.array(list).weight() + Value.map(keywords).weight()
        }
    }

    /// The approximate number of bytes in memory; values take more than the bytes that they were read from.
    var footprint: Int {
        switch storage {
        case .raw(let raw): raw.bytes.count
        case .values(let list, let keywords): Value.array(list).weight(each: 48) + Value.map(keywords).weight(each: 48)
        }
    }
}

extension Value {
    fileprivate func weight(each: Int = 8) -> Int {
        switch self {
        case .null, .bool, .integer, .unsigned, .float, .timestamp: each
        case .text(let text): each + text.utf8.count
        case .bytes(let bytes), .extension(_, let bytes): each + bytes.count
        case .array(let items): items.reduce(each) { $0 + $1.weight(each: each) }
        case .map(let map): map.entries.reduce(each) { $0 + $1.key.weight(each: each) + $1.value.weight(each: each) }
        case .tagged(_, let value): each + value.weight(each: each)
        }
    }
}

extension BrokerPublication {
    /// The approximate number of bytes to keep the publication.
    var weight: Int { topic.utf8.count + arguments.footprint + (audience?.weight ?? 0) + 256 }
}

extension Audience {
    /// The approximate number of bytes.
    fileprivate var weight: Int { excluded.weight + eligible.weight }
}

extension Audience.Lists {
    fileprivate var weight: Int {
        let names = (authIDs ?? []).union(authRoles ?? [])
        return 32 * (sessions?.count ?? 0) + names.reduce(0) { $0 + 64 + $1.utf8.count }
    }
}
