public import CodecCore

/// The arguments of a call, a result, an event or an error: positional values and keyword values.
///
/// Arguments from a peer were checked to be well-formed, but stay bytes until they are read: a router passes them on unchanged. Two
/// arguments are equal if their values are equal.
public struct WAMPArguments: Sendable {
    enum Storage: Sendable {
        case values([Value], ValueMap)
        case raw(RawArguments)
    }

    let storage: Storage

    init(_ raw: RawArguments) { storage = .raw(raw) }

    /// Creates arguments from positional and keyword values; both are empty by default.
    public init(_ list: [Value] = [], keywords: ValueMap = ValueMap()) { storage = .values(list, keywords) }

    /// Empty arguments.
    public static let none = WAMPArguments()

    /// Whether there are no values.
    public var isEmpty: Bool {
        switch storage {
        case .values(let list, let keywords): list.isEmpty && keywords.isEmpty
        // Empty arguments are never stored as bytes.
        case .raw: false
        }
    }

    /// The positional values.
    ///
    /// Arguments that arrived as bytes are decoded again on each access.
    ///
    /// - Throws: A `CodecError` if the bytes of the peer cannot be read.
    public var list: [Value] {
        get throws(CodecError) {
            switch storage {
            case .values(let list, _): list
            case .raw(let raw): try raw.list
            }
        }
    }

    /// The keyword values.
    ///
    /// Arguments that arrived as bytes are decoded again on each access.
    ///
    /// - Throws: A `CodecError` if the bytes of the peer cannot be read.
    public var keywords: ValueMap {
        get throws(CodecError) {
            switch storage {
            case .values(_, let keywords): keywords
            case .raw(let raw): try raw.keywords
            }
        }
    }

    /// The number of positional and of keyword values; bytes are counted without decoding them.
    public var counts: (list: Int, keywords: Int) {
        switch storage {
        case .values(let list, let keywords): (list.count, keywords.count)
        case .raw(let raw): raw.counts
        }
    }
}

extension WAMPArguments: Hashable {
    /// Compares the values; the serialization in which they came does not matter.
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
    /// The number of values; the values themselves are left out, because they do not belong into logs.
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
