public import CodecCore

/// What a call, a result, an event or an error carries: values by place, and values by name.
///
/// What came from a peer was found well-formed, but stays bytes until it is asked for: a router passes it on as it came. Two are equal if
/// their values are.
public struct WAMPArguments: Sendable {
    enum Storage: Sendable {
        case values([Value], ValueMap)
        case raw(RawArguments)
    }

    let storage: Storage

    init(_ raw: RawArguments) { storage = .raw(raw) }

    /// Values by place and by name; none of either unless given.
    public init(_ list: [Value] = [], keywords: ValueMap = ValueMap()) { storage = .values(list, keywords) }

    /// Nothing.
    public static let none = WAMPArguments()

    /// Whether there is nothing.
    public var isEmpty: Bool {
        switch storage {
        case .values(let list, let keywords): list.isEmpty && keywords.isEmpty
        // Nothing is never kept as bytes.
        case .raw: false
        }
    }

    /// The values by place.
    ///
    /// What came as bytes is read anew each time.
    ///
    /// - Throws: A `CodecError` if the peer sent what cannot be read.
    public var list: [Value] {
        get throws(CodecError) {
            switch storage {
            case .values(let list, _): list
            case .raw(let raw): try raw.list
            }
        }
    }

    /// The values by name.
    ///
    /// What came as bytes is read anew each time.
    ///
    /// - Throws: A `CodecError` if the peer sent what cannot be read.
    public var keywords: ValueMap {
        get throws(CodecError) {
            switch storage {
            case .values(_, let keywords): keywords
            case .raw(let raw): try raw.keywords
            }
        }
    }

    /// How many values there are by place, and by name; bytes are counted without reading them.
    public var counts: (list: Int, keywords: Int) {
        switch storage {
        case .values(let list, let keywords): (list.count, keywords.count)
        case .raw(let raw): raw.counts
        }
    }
}

extension WAMPArguments: Hashable {
    /// Whether the values are the same; in which serialization they came does not matter.
    public static func == (one: WAMPArguments, other: WAMPArguments) -> Bool {
        if case .raw(let mine) = one.storage, case .raw(let theirs) = other.storage, mine.isIdentical(to: theirs) { return true }
        guard let list = try? one.list, let otherList = try? other.list, list == otherList else { return false }
        guard let keywords = try? one.keywords, let otherKeywords = try? other.keywords else { return false }
        return keywords == otherKeywords
    }

    /// Feeds the values to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(try? list)
        hasher.combine(try? keywords)
    }
}

extension WAMPArguments: CustomStringConvertible, CustomDebugStringConvertible {
    /// How many values there are; what they are belongs into no log unless it is asked for.
    public var description: String {
        let counts = counts
        let list = counts.list == 1 ? "1 arg" : "\(counts.list) args"
        return counts.keywords == 0 ? list : "\(list), \(counts.keywords == 1 ? "1 keyword" : "\(counts.keywords) keywords")"
    }

    /// The values themselves, in CBOR's diagnostic notation.
    public var debugDescription: String {
        guard let list = try? list, let keywords = try? keywords else { return "unreadable" }
        return keywords.isEmpty ? "\(Value.array(list))" : "\(Value.array(list)) \(Value.map(keywords))"
    }
}
