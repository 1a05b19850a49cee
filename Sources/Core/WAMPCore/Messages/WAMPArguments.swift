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

extension WAMPArguments {
    /// Creates arguments from encoded bytes, such as Swift values that were encoded directly.
    ///
    /// - Parameters:
    ///   - list: The bytes of a complete list; empty: no list.
    ///   - keywords: The bytes of a complete dictionary; empty: none.
    ///   - serialization: The serialization of the bytes.
    ///   - limits: The maximum depth and length.
    /// - Throws: A `CodecError` if the bytes are not well-formed, are not a list and a dictionary, or exceed the limits.
    public init(
        list: [UInt8], keywords: [UInt8] = [], as serialization: WAMPSerialization, limits: CodecLimits = .standard
    ) throws(CodecError) {
        // Wrap them in one more list, so that the same rules apply as to messages from a peer.
        var whole = ByteWriter(capacity: list.count + keywords.count + 16)
        let head: [UInt8] =
            switch serialization {
            case .json: Array("[".utf8)
            case .messagePack: [keywords.isEmpty ? 0x91 : 0x92]
            case .cbor: [keywords.isEmpty ? 0x81 : 0x82]
            }
        let empty: [UInt8] =
            switch serialization {
            case .json: Array("[]".utf8)
            case .messagePack: [0x90]
            case .cbor: [0x80]
            }
        whole.append(all: head)
        whole.append(all: list.isEmpty ? empty : list)
        if serialization == .json, !keywords.isEmpty { whole.append(UInt8(ascii: ",")) }
        whole.append(all: keywords)
        if serialization == .json { whole.append(UInt8(ascii: "]")) }
        do throws(WAMPFormatError) {
            var reader = unsafe try ElementReader(whole.bytes, serialization, limits, isMessage: false)
            self = try reader.arguments()
            try reader.finish()
        } catch {
            guard case .undecodable(let error) = error.reason else { throw CodecError(.malformed, at: 0) }
            throw error
        }
    }

    /// The serialization of the bytes, if they are still as the peer sent them; otherwise nil.
    public var rawSerialization: WAMPSerialization? {
        if case .raw(let raw) = storage { raw.serialization } else { nil }
    }

    /// Passes the bytes of the list as the peer sent it, to decode them directly into a type; returns nil if there are no bytes.
    public func withRawList<Result>(_ body: (RawSpan, WAMPSerialization) throws -> Result) rethrows -> Result? {
        guard case .raw(let raw) = storage else { return nil }
        return try raw.lend(0..<Int(raw.listEnd), body)
    }

    /// Passes the bytes of the dictionary as the peer sent it; returns nil if there are none.
    public func withRawKeywords<Result>(_ body: (RawSpan, WAMPSerialization) throws -> Result) rethrows -> Result? {
        guard case .raw(let raw) = storage, raw.hasKeywords else { return nil }
        return try raw.lend(Int(raw.keywordsStart)..<raw.bytes.count, body)
    }

    /// Passes the bytes of one value of the list as the peer sent it; returns nil if there are no bytes or no such value.
    ///
    /// - Parameters:
    ///   - path: The index in the list, then the index in the list at that place, and so on.
    ///   - body: Receives the bytes and their serialization.
    public func withRawValue<Result>(at path: [Int], _ body: (RawSpan, WAMPSerialization) throws -> Result) rethrows -> Result? {
        guard case .raw(let raw) = storage, let range = raw.range(ofValueAt: path) else { return nil }
        return try raw.lend(range, body)
    }

    /// Returns one value of the list without reading the others; nil if there is no such value.
    ///
    /// - Parameter path: The index in the list, then the index in the list at that place, and so on.
    /// - Throws: A `CodecError` if the bytes of the peer cannot be read.
    public func value(at path: [Int]) throws(CodecError) -> Value? {
        switch storage {
        case .values(let list, _):
            var value = Value.array(list)
            for place in path {
                guard let items = value.items, items.indices.contains(place) else { return nil }
                value = items[place]
            }
            return value
        case .raw(let raw):
            guard let range = raw.range(ofValueAt: path) else { return nil }
            return try raw.read(from: UInt32(range.lowerBound)) { reader throws(CodecError) in
                try reader.wampValue(raw.serialization, levels: .max)
            }
        }
    }
}

extension RawArguments {
    @inline(__always)
    fileprivate func lend<Result>(_ range: Range<Int>, _ body: (RawSpan, WAMPSerialization) throws -> Result) rethrows -> Result {
        try unsafe bytes.withUnsafeBytes { try body(unsafe UnsafeRawBufferPointer(rebasing: $0[range]).bytes, serialization) }
    }

    fileprivate func range(ofValueAt path: [Int]) -> Range<Int>? {
        let range = try? read(from: 0) { reader throws(CodecError) -> Range<Int>? in
            var start = 0
            for place in path {
                var items = try reader.wampItems(serialization)
                guard place >= 0, items.isList else { return nil }
                for _ in 0..<place {
                    guard try items.next(&reader) else { return nil }
                    try reader.checkWAMP(serialization, levels: .max)
                }
                guard try items.next(&reader) else { return nil }
                if serialization == .json { reader.skipSpace() }
                start = reader.position
            }
            try reader.checkWAMP(serialization, levels: .max)
            return start..<reader.position
        }
        return range ?? nil
    }
}

extension ItemReader {
    fileprivate var isList: Bool {
        switch shape {
        case .counted(_, let isMap, _), .open(let isMap, _): !isMap
        case .json(let close): close == UInt8(ascii: "]")
        }
    }
}

/// Arguments as a peer sent them: the well-formed bytes of a list, followed by those of a dictionary or nothing; never both empty.
struct RawArguments: Sendable {
    /// In JSON, includes the comma and the white space between the two.
    let bytes: [UInt8]
    let listEnd: UInt32
    /// The end of the bytes, if there is no dictionary.
    let keywordsStart: UInt32
    let serialization: WAMPSerialization

    var hasKeywords: Bool { keywordsStart < bytes.count }

    var list: [Value] {
        get throws(CodecError) {
            try read(from: 0) { reader throws(CodecError) in try reader.wampValue(serialization, levels: .max).items ?? [] }
        }
    }

    var keywords: ValueMap {
        get throws(CodecError) {
            guard hasKeywords else { return ValueMap() }
            return try read(from: keywordsStart) { reader throws(CodecError) in
                try reader.wampValue(serialization, levels: .max).entries ?? ValueMap()
            }
        }
    }

    var counts: (list: Int, keywords: Int) { (count(from: 0), hasKeywords ? count(from: keywordsStart) : 0) }

    func isIdentical(to other: RawArguments) -> Bool {
        serialization == other.serialization && listEnd == other.listEnd && keywordsStart == other.keywordsStart && bytes == other.bytes
    }

    /// Reads a value from its first byte.
    ///
    /// The bytes, including their depth, were checked when they arrived.
    func read<Result>(from start: UInt32, _ body: (inout ByteReader) throws(CodecError) -> Result) throws(CodecError) -> Result {
        try unsafe bytes.withUnsafeBytes { bytes -> Swift.Result<Result, CodecError> in
            var reader = unsafe ByteReader(bytes, from: Int(start))
            do throws(CodecError) { return .success(try body(&reader)) } catch { return .failure(error) }
        }.get()
    }

    /// Returns the number of items of a list, or of entries of a dictionary.
    private func count(from start: UInt32) -> Int {
        let count = try? read(from: start) { reader throws(CodecError) in
            var items = try reader.wampItems(serialization)
            var count = 0
            while try items.next(&reader) {
                try reader.checkWAMP(serialization, levels: .max)
                count += 1
            }
            return count
        }
        return count ?? 0
    }
}

extension Value {
    /// The maximum length in bytes of a text with non-ASCII characters, where texts are compared.
    private static let longestText = 1024

    /// Whether all texts in the value are quick to compare and to look up.
    ///
    /// Swift compares texts by their canonical Unicode form. With many combining marks in a row this takes quadratic time: 100 KB take
    /// seconds. ASCII is compared byte by byte.
    var isQuickToCompare: Bool {
        switch self {
        case .text(let text): Self.isQuickToCompare(text)
        case .array(let items): items.allSatisfy(\.isQuickToCompare)
        case .map(let map): map.isQuickToCompare
        case .tagged(_, let value): value.isQuickToCompare
        default: true
        }
    }

    static func isQuickToCompare(_ text: String) -> Bool {
        text.utf8.count <= longestText || text.utf8.allSatisfy { $0 < 0x80 }
    }
}

extension ValueMap {
    var isQuickToCompare: Bool { entries.allSatisfy { $0.key.isQuickToCompare && $0.value.isQuickToCompare } }
}
