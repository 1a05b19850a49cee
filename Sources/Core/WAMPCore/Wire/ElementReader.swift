import CodecCore

/// Reads the elements of a message in order.
///
/// It is lenient because some clients are imprecise: null counts as empty, and so does an empty list in place of a dictionary or the
/// reverse (PHP and Lua cannot distinguish them).
struct ElementReader {
    private var bytes: ByteReader
    private let serialization: WAMPSerialization
    /// The maximum nesting depth of values within an element.
    private let levels: Int
    private var items: ItemReader
    /// The type of the message, once it is known.
    private(set) var type: UInt64?

    /// Enters the message's array and reads its type; the bytes must live as long as the reader is used.
    @unsafe init(
        _ bytes: UnsafeRawBufferPointer, _ serialization: WAMPSerialization, _ limits: CodecLimits, isMessage: Bool = true
    ) throws(WAMPFormatError) {
        guard bytes.count <= limits.maximumBytes else {
            throw WAMPFormatError(.undecodable(CodecError(.tooLarge, at: limits.maximumBytes)))
        }
        guard limits.maximumDepth > 0 else { throw WAMPFormatError(.undecodable(CodecError(.tooDeep, at: 0))) }
        unsafe self.bytes = ByteReader(bytes)
        (self.serialization, levels) = (serialization, limits.maximumDepth - 1)
        items = ItemReader(shape: .counted(0, isMap: false, .cbor))
        guard try isList() else { throw WAMPFormatError(.noMessage) }
        items = try attempt { reader throws(CodecError) in try reader.wampItems(serialization) }
        if isMessage {
            guard try hasNext(), let number = try unsigned() else { throw WAMPFormatError(.noMessage) }
            type = number
        }
    }

    /// Returns whether a list is next.
    private mutating func isList() throws(WAMPFormatError) -> Bool {
        guard let format = serialization.binary else {
            bytes.skipSpace()
            guard let byte = bytes.peek() else { throw failure(.undecodable(CodecError(.truncated, at: bytes.end))) }
            return byte == UInt8(ascii: "[")
        }
        let start = bytes.position
        defer { bytes.position = start }
        switch try attempt({ reader throws(CodecError) in try reader.head(format) }) {
        case .array, .openArray: return true
        default: return false
        }
    }

    @inline(__always)
    private mutating func attempt<Result>(
        _ body: (inout ByteReader) throws(CodecError) -> Result
    ) throws(WAMPFormatError) -> Result {
        do throws(CodecError) { return try body(&bytes) } catch { throw failure(.undecodable(error)) }
    }

    private func failure(_ reason: WAMPFormatError.Reason) -> WAMPFormatError { WAMPFormatError(reason, type: type) }

    private mutating func hasNext() throws(WAMPFormatError) -> Bool {
        do throws(CodecError) { return try items.next(&bytes) } catch { throw failure(.undecodable(error)) }
    }

    /// Reads an integer of at least 0; nil if something else is next.
    private mutating func unsigned() throws(WAMPFormatError) -> UInt64? {
        try attempt { [serialization] reader throws(CodecError) in
            if let format = serialization.binary {
                if case .unsigned(let number) = try reader.head(format) { return number }
            } else if let number = reader.jsonInteger() {
                return UInt64(exactly: number)
            } else if reader.left == 0 {
                throw reader.unexpected
            }
            return nil
        }
    }
}

extension ElementReader {
    /// Reads an ID.
    mutating func id(_ field: String) throws(WAMPFormatError) -> WAMPID {
        let id = try request(field)
        guard id > 0 else { throw failure(.field(field)) }
        return id
    }

    /// Reads a request ID; it may be 0, which the receiver has to refuse.
    mutating func request(_ field: String = "request") throws(WAMPFormatError) -> WAMPID {
        guard try hasNext(), let id = try unsigned(), id <= .largestWAMPID else { throw failure(.field(field)) }
        return id
    }

    /// Reads the kind of request that an ERROR answers.
    mutating func kind() throws(WAMPFormatError) -> WAMPRequestKind {
        guard try hasNext(), let number = try unsigned(), let kind = WAMPRequestKind(rawValue: number) else {
            throw failure(.field("request type"))
        }
        return kind
    }

    /// Reads a text.
    mutating func text(_ field: String) throws(WAMPFormatError) -> String {
        guard try hasNext() else { throw failure(.field(field)) }
        let text = try attempt { [serialization] reader throws(CodecError) -> String? in
            guard let format = serialization.binary else {
                guard reader.skipSpace(to: UInt8(ascii: "\"")) else { return nil }
                return try reader.string(of: try reader.jsonText())
            }
            let start = reader.position
            switch try reader.head(format) {
            case .text(let length): return try reader.text(length)
            case .openText: return try reader.openText(from: start, format)
            default: return nil
            }
        }
        guard let text, Value.isQuickToCompare(text) else { throw failure(.field(field)) }
        return text
    }

    /// Reads a dictionary; empty if the message ends before it.
    mutating func map(_ field: String) throws(WAMPFormatError) -> ValueMap {
        guard try hasNext() else { return ValueMap() }
        switch try read() {
        case .map(let map) where map.isQuickToCompare: return map
        case .null, .array([]): return ValueMap()
        default: throw failure(.field(field))
        }
    }

    /// Reads the arguments, if there are any, and keeps them as bytes.
    mutating func arguments() throws(WAMPFormatError) -> WAMPArguments {
        guard try hasNext() else { return .none }
        let list = try checked(isList: true, "arguments")
        guard try hasNext() else { return list.isEmpty ? .none : try raw(from: list.range.lowerBound, list.range.upperBound) }
        let keywords = try checked(isList: false, "keywords")
        if keywords.isEmpty { return list.isEmpty ? .none : try raw(from: list.range.lowerBound, list.range.upperBound) }
        // A placeholder for an empty list is not passed on.
        if !list.isProper {
            bytes.move(to: keywords.range.lowerBound)
            return WAMPArguments([], keywords: try read().entries ?? ValueMap())
        }
        return try raw(from: list.range.lowerBound, list.range.upperBound, keywords.range.lowerBound)
    }

    private mutating func read() throws(WAMPFormatError) -> Value {
        try attempt { [serialization, levels] reader throws(CodecError) in try reader.wampValue(serialization, levels: levels) }
    }

    /// Ends the message: nothing may follow.
    ///
    /// WAMP, "Polymorphism": the message type and the number of elements define the types of all elements, so further elements have no
    /// meaning.
    mutating func finish() throws(WAMPFormatError) {
        guard try !hasNext() else { throw failure(.tooManyFields) }
        if serialization.isText { bytes.skipSpace() }
        guard bytes.left == 0 else { throw failure(.undecodable(CodecError(.trailingBytes, at: bytes.position))) }
    }

    /// Copies all bytes from a list to the reader's position.
    private func raw(from start: Int, _ listEnd: Int, _ keywordsStart: Int? = nil) throws(WAMPFormatError) -> WAMPArguments {
        let end = keywordsStart == nil ? listEnd : bytes.position
        guard let length = UInt32(exactly: end - start) else { throw failure(.undecodable(CodecError(.tooLarge, at: start))) }
        let copy = unsafe [UInt8](bytes.bytes(from: start, to: end))
        let keywords = keywordsStart.map { UInt32($0 - start) } ?? length
        return WAMPArguments(
            RawArguments(bytes: copy, listEnd: UInt32(listEnd - start), keywordsStart: keywords, serialization: serialization))
    }

    /// Skips a list or a dictionary; returns its range, whether it is empty, and whether it has the expected type.
    private mutating func checked(
        isList: Bool, _ field: String
    ) throws(WAMPFormatError) -> (range: Range<Int>, isEmpty: Bool, isProper: Bool) {
        if serialization.isText { bytes.skipSpace() }
        let start = bytes.position
        guard let shape = try shape() else { throw failure(.field(field)) }
        guard shape.isEmpty || shape.isList == isList else { throw failure(.field(field)) }
        bytes.move(to: start)
        try attempt { [serialization, levels] reader throws(CodecError) in try reader.checkWAMP(serialization, levels: levels) }
        return (start..<bytes.position, shape.isEmpty, shape.isList == isList)
    }

    /// Returns what the start of the next value shows; nil if it is not a list, a dictionary or null.
    private mutating func shape() throws(WAMPFormatError) -> (isList: Bool?, isEmpty: Bool)? {
        try attempt { [serialization] reader throws(CodecError) -> (isList: Bool?, isEmpty: Bool)? in
            guard let format = serialization.binary else {
                switch reader.peek() {
                case UInt8(ascii: "n"): return (nil, true)
                case UInt8(ascii: "["), UInt8(ascii: "{"):
                    let isList = reader.peek() == UInt8(ascii: "[")
                    reader.move(to: reader.position + 1)
                    return (isList, reader.skipSpace(to: UInt8(ascii: isList ? "]" : "}")))
                default: return nil
                }
            }
            switch try reader.head(format) {
            case .null: return (nil, true)
            case .array(let count): return (true, count == 0)
            case .map(let count): return (false, count == 0)
            case .openArray: return (true, reader.atStop)
            case .openMap: return (false, reader.atStop)
            default: return nil
            }
        }
    }
}
