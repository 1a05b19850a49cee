import CodecCore

extension BinaryDecoding {
    func bool(_ level: Int) throws -> Bool {
        let head = try pastTags(level)
        guard case .bool(let value) = head else { throw mismatch(Bool.self, head, level) }
        return value
    }

    func string(_ level: Int) throws -> String {
        let start = reader.position
        let head = try pastTags(level)
        do {
            switch head {
            case .text(let length): return try reader.text(length)
            // Without a tag before it, for its first byte says what pieces it has.
            case .openText: return try reader.openText(from: reader.position - 1, format)
            default: break
            }
        } catch { throw corrupt(level, error) }
        reader.move(to: start)
        throw mismatch(String.self, head, level)
    }

    func double(_ level: Int) throws -> Double {
        let head = try pastTags(level)
        switch head {
        case .float(let number): return number
        case .unsigned(let number):
            if let exact = Double(exactly: number) { return exact }
        case .negative(let number):
            if let number = Int64(exactly: number), let exact = Double(exactly: ~number) { return exact }
        default: throw mismatch(Double.self, head, level)
        }
        throw unfit(Double.self, head, level)
    }

    func float(_ level: Int) throws -> Float {
        let number = try double(level)
        let float = Float(number)
        guard float.isFinite || !number.isFinite else { throw unfit(Float.self, .float(number), level) }
        return float
    }

    @inline(__always) func integer<Number: FixedWidthInteger>(_ type: Number.Type, _ level: Int) throws -> Number {
        let head = try pastTags(level)
        switch head {
        case .unsigned(let number): if let exact = Number(exactly: number) { return exact }
        case .negative(let number):
            if let number = Int64(exactly: number), let exact = Number(exactly: ~number) { return exact }
        case .float(let number): if let exact = Number(exactly: number) { return exact }
        default: throw mismatch(type, head, level)
        }
        throw unfit(type, head, level)
    }

    // MARK: Errors

    /// The path to what is decoded at a level.
    func path(_ level: Int) -> [any CodingKey] {
        let place = reader.position
        defer { reader.move(to: place) }
        return prefix
            + frames.prefix(level).map { $0.isMap ? key(at: $0.place.key) ?? PathKey(stringValue: "") : PathKey(index: $0.index) }
    }

    private func context(_ level: Int, _ text: String, _ error: (any Error)? = nil) -> DecodingError.Context {
        DecodingError.Context(codingPath: path(level), debugDescription: text, underlyingError: error)
    }

    func corrupt(_ level: Int, _ error: any Error) -> DecodingError { .dataCorrupted(context(level, "\(error)", error)) }

    func corrupt(_ level: Int, _ text: String) -> DecodingError { .dataCorrupted(context(level, text)) }

    func missing(_ key: any CodingKey, _ level: Int) -> DecodingError {
        .keyNotFound(key, context(level, "there is no key \"\(key.stringValue)\""))
    }

    func atEnd(_ type: Any.Type, _ level: Int) -> DecodingError { .valueNotFound(type, context(level, "the array has no more values")) }

    func mismatch(_ type: Any.Type, _ head: BinaryHead, _ level: Int) -> DecodingError {
        if head == .null { return .valueNotFound(type, context(level, "there is null instead of a \(type)")) }
        // A stop is no value at all.
        if head == .stop { return corrupt(level, CodecError(.malformed, at: reader.position - 1)) }
        return .typeMismatch(type, context(level, "there is \(head.kind) instead of a \(type)"))
    }

    private func unfit(_ type: Any.Type, _ head: BinaryHead, _ level: Int) -> DecodingError {
        let number: String
        switch head {
        case .unsigned(let magnitude): number = "\(magnitude)"
        case .negative(let magnitude): number = magnitude == .max ? "-18446744073709551616" : "-\(magnitude + 1)"
        case .float(let float): number = "\(float)"
        default: number = ""
        }
        return corrupt(level, "the number \(number) is not exactly a \(type)")
    }
}

extension BinaryHead {
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .unsigned, .negative: "an integer"
        case .float: "a floating-point number"
        case .text, .openText: "a text"
        case .bytes, .openBytes: "bytes"
        case .array, .openArray: "an array"
        case .map, .openMap: "a map"
        case .extension(let type, _): "an extension of type \(type)"
        case .tag(let number): "a tag \(number)"
        case .stop: "a stop"
        case .simple(let number): "a simple value \(number)"
        }
    }
}
