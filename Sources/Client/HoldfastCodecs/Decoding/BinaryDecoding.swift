import CodecCore

/// The state that all containers of one decoding share.
///
/// Nothing is read ahead: a map is read in the order of its keys as long as the type asks for them in that order. The positions of the
/// remaining keys are recorded only when the type asks for another key. Containers that may be used while others are in use, nested ones
/// and those of `superDecoder()`, have their own decoding over the same bytes.
final class BinaryDecoding {
    /// A container that is being decoded.
    struct Frame {
        let isMap: Bool
        /// The position of its head.
        let start: Int
        /// The position of its first key or value.
        let first: Int
        /// The number of its values or pairs; nil if a stop code ends it.
        let count: Int?
        /// The number of entries in ``places`` that belong to the maps around it; its own entries follow, one for each passed key.
        let base: Int
        /// The position of the next key or value; once all keys are known, the position where the container ends.
        var position: Int
        /// The number of values or pairs passed.
        var index = 0
        /// The positions of the last found key and its value.
        var place = Place(key: 0, value: 0)
        /// Whether the positions of all keys are known.
        var isKnown = false
        /// The index of the key to try first.
        var next = 0
    }

    /// The positions of a key and its value.
    struct Place {
        let key: Int
        let value: Int
    }

    let format: BinaryFormat
    let options: CodecOptions
    /// The coding path of the value that this decodes.
    let prefix: [any CodingKey]
    // Only the methods of this class access these, one at a time.
    @exclusivity(unchecked) var reader: ByteReader
    @exclusivity(unchecked) var frames: [Frame] = []
    @exclusivity(unchecked) var places: [Place] = []
    /// The start of the last value decoded without a container, and the reader's position after it.
    @exclusivity(unchecked) var single = (start: -1, end: -1)
    private var children: [BinaryDecoding] = []
    /// The number of children at which unused ones are released.
    private var manyChildren = 16
    /// The first error that could not be thrown where it happened.
    private var failure: (any Error)?

    init(_ format: BinaryFormat, _ options: CodecOptions, _ reader: ByteReader, prefix: [any CodingKey] = []) {
        (self.format, self.options, self.reader, self.prefix) = (format, options, reader, prefix)
        // Enough capacity for most types.
        frames.reserveCapacity(4)
        places.reserveCapacity(24)
    }

    static func value<Value: Decodable>(
        _ type: Value.Type, _ bytes: RawSpan, _ format: BinaryFormat, _ options: CodecOptions
    ) throws -> Value {
        try bytes.withUnsafeBytes { bytes in
            let decoding = BinaryDecoding(format, options, ByteReader(bytes))
            // A type may keep its decoder, but the bytes are not valid afterwards.
            defer { decoding.end() }
            guard bytes.count <= options.limits.maximumBytes else {
                throw decoding.corrupt(0, CodecError(.tooLarge, at: options.limits.maximumBytes))
            }
            let value = try decoding.read(type, from: 0, 0)
            guard decoding.reader.left == 0 else { throw decoding.corrupt(0, CodecError(.trailingBytes, at: decoding.reader.position)) }
            if let failure = decoding.firstFailure { throw failure }
            return value
        }
    }

    private func end() {
        reader = ByteReader(UnsafeRawBufferPointer(start: nil, count: 0))
        frames = []
        for child in children { child.end() }
    }

    /// Returns a decoder of the next value that may be used independently of other decoders.
    func child(_ level: Int) -> BinaryDecoder {
        if children.count >= manyChildren {
            forgetChildren()
            manyChildren = max(16, children.count * 2)
        }
        let child = BinaryDecoding(format, options, reader, prefix: path(level + 1))
        children.append(child)
        return BinaryDecoder(decoding: child, start: reader.position, level: 0)
    }

    /// Releases the children that nothing else references, because a peer could send enough values to create very many.
    private func forgetChildren() {
        failure = firstFailure
        var kept: [BinaryDecoding] = []
        while var child = children.popLast() {
            if !isKnownUniquelyReferenced(&child) { kept.append(child) }
        }
        children = kept
    }

    /// Records an error that cannot be thrown where it happens; the first one counts.
    func fail(_ error: any Error) {
        if failure == nil { failure = error }
    }

    private var firstFailure: (any Error)? {
        if let failure { return failure }
        for child in children { if let failure = child.firstFailure { return failure } }
        return nil
    }

    // MARK: Containers

    /// Enters the container that begins at `start` as the container of this level; continues with it if it is that already.
    func enter(_ start: Int, _ level: Int, isMap: Bool, _ type: Any.Type) throws {
        if level < frames.count, frames[level].start == start, frames[level].isMap == isMap { return leave(to: level + 1) }
        // The parent containers are closed, so this decoder is used too late.
        guard frames.count >= level else { throw corrupt(frames.count, CodecError(.truncated, at: reader.position)) }
        leave(to: level)
        reader.move(to: start)
        let head = try pastTags(level)
        let count: Int?
        switch head {
        case .map(let pairs) where isMap: count = pairs
        case .openMap where isMap: count = nil
        case .array(let items) where !isMap: count = items
        case .openArray where !isMap: count = nil
        default: throw mismatch(type, head, level)
        }
        guard prefix.count + level < options.limits.maximumDepth else { throw corrupt(level, CodecError(.tooDeep, at: start)) }
        let position = reader.position
        frames.append(Frame(isMap: isMap, start: start, first: position, count: count, base: places.count, position: position))
    }

    /// Removes the containers at this level and below it.
    func leave(to level: Int) {
        while frames.count > level {
            let kept = frames.removeLast().base
            if places.count > kept { places.removeSubrange(kept...) }
        }
    }

    /// Returns whether more follows in the container at a level; the reader is then at the next item, or else after the container.
    @inline(__always) func hasNext(_ level: Int) -> Bool {
        reader.move(to: frames[level].position)
        if let count = frames[level].count { return frames[level].index < count }
        return reader.peek() != 0xFF
    }

    /// Skips the rest of the container at a level, and removes it.
    func finish(_ level: Int) throws {
        leave(to: level + 1)
        while hasNext(level) {
            if frames[level].isMap { try reader.skipValue(format) }
            try reader.skipValue(format)
            frames[level].position = reader.position
            frames[level].index += 1
        }
        if frames[level].count == nil { _ = try reader.byte() }
        leave(to: level)
    }

    // MARK: Values

    /// Decodes the value at a position; its containers are at this level, and afterwards the reader is behind the value.
    func read<Value: Decodable>(_ type: Value.Type, from start: Int, _ level: Int) throws -> Value {
        reader.move(to: start)
        if let known = try readKnown(type, level) { return known }
        let value = try type.init(from: BinaryDecoder(decoding: self, start: start, level: level))
        do {
            if frames.count > level, frames[level].start == start {
                try finish(level)
            } else if single.start == start {
                reader.move(to: single.end)
            } else {
                reader.move(to: start)
                try reader.skipValue(format)
            }
        } catch { throw corrupt(level, error) }
        return value
    }

    /// Records that a value without a container was decoded, from `start` up to the reader's position.
    @inline(__always) func readSingle(from start: Int) { single = (start, reader.position) }

    /// Reads the head of the next value after any tags.
    @inline(__always) func pastTags(_ level: Int) throws -> BinaryHead {
        do {
            var head = try reader.head(format)
            while case .tag = head { head = try reader.head(format) }
            return head
        } catch { throw corrupt(level, error) }
    }

    /// Reads a null if it is next.
    @inline(__always) func takeNull() -> Bool {
        let byte = reader.peek()
        guard format == .cbor ? byte == 0xF6 || byte == 0xF7 : byte == 0xC0 else { return false }
        reader.move(to: reader.position + 1)
        return true
    }

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
            // `start` may be a tag, so begin at the head, whose first byte gives the type of the pieces.
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

    /// Returns the coding path of the value at a level.
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
        if head == .null { return .valueNotFound(type, context(level, "found null instead of a \(type)")) }
        // A stop code is not a value.
        if head == .stop { return corrupt(level, CodecError(.malformed, at: reader.position - 1)) }
        return .typeMismatch(type, context(level, "found \(head.kind) instead of a \(type)"))
    }

    private func unfit(_ type: Any.Type, _ head: BinaryHead, _ level: Int) -> DecodingError {
        let number: String
        switch head {
        case .unsigned(let magnitude): number = "\(magnitude)"
        case .negative(let magnitude): number = magnitude == .max ? "-18446744073709551616" : "-\(magnitude + 1)"
        case .float(let float): number = "\(float)"
        default: number = ""
        }
        return corrupt(level, "the number \(number) does not fit exactly in \(type)")
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
