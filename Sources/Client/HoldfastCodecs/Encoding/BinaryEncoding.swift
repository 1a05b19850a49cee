import CodecCore
import Foundation

/// The state that all containers of one encoding share.
///
/// A value that is encoded within another is written directly after it, and its containers are closed when it returns. Only containers
/// that may be filled at any later time, nested ones and those of `superEncoder()`, have their own bytes, which are inserted in
/// their place at the end.
final class BinaryEncoding {
    /// An open container.
    struct Frame {
        let isMap: Bool
        /// The position of its head.
        let start: Int
        /// The number of its values.
        var items = 0
        /// The position of its last key.
        var key = 0
    }

    let format: BinaryFormat
    let options: CodecOptions
    /// The coding path of the value that this encodes.
    let prefix: [any CodingKey]
    // Only the methods of this class access these, one at a time.
    @exclusivity(unchecked) var writer: ByteWriter
    @exclusivity(unchecked) var frames: [Frame] = []
    private var children: [(place: Int, child: BinaryEncoding)] = []
    /// The first error that could not be thrown where it happened.
    private var failure: (any Error)?

    init(_ format: BinaryFormat, _ options: CodecOptions, prefix: [any CodingKey] = []) {
        (self.format, self.options, self.prefix) = (format, options, prefix)
        writer = ByteWriter()
    }

    static func bytes<Value: Encodable>(of value: Value, _ format: BinaryFormat, _ options: CodecOptions) throws -> [UInt8] {
        let encoding = BinaryEncoding(format, options)
        try encoding.write(value, 0, isTop: true)
        return try encoding.finish(value)
    }

    private func finish(_ value: Any) throws -> [UInt8] {
        let bytes: [UInt8]
        if children.isEmpty {
            if let failure { throw failure }
            bytes = writer.array()
        } else {
            var whole = ByteWriter(capacity: writer.count * 2)
            try assemble(into: &whole)
            bytes = whole.array()
        }
        guard bytes.count <= options.limits.maximumBytes else { throw fault(value, 0, "the result is larger than the limit") }
        return bytes
    }

    /// Appends the written bytes with the bytes of all children in their places.
    private func assemble(into whole: inout ByteWriter) throws {
        if let failure { throw failure }
        close(to: 0)
        if writer.count == 0 { empty() }
        var done = 0
        for (place, child) in children {
            whole.append(UnsafeRawBufferPointer(rebasing: writer.bytes[done..<place]))
            try child.assemble(into: &whole)
            done = place
        }
        whole.append(UnsafeRawBufferPointer(rebasing: writer.bytes[done...]))
    }

    /// Returns a child for the next value in a container; its bytes are inserted at the end.
    func child(_ level: Int) -> BinaryEncoding {
        let child = BinaryEncoding(format, options, prefix: path(level + 1))
        children.append((writer.count, child))
        return child
    }

    // MARK: Containers

    /// Opens a container at a level, or continues with it.
    func open(_ level: Int, isMap: Bool) {
        if frames.count > level {
            guard frames[level].isMap == isMap else { return fail(level, "a value is both a map and an array") }
            return
        }
        guard prefix.count + level < options.limits.maximumDepth else { return fail(level, "values are nested too deep") }
        // With fewer frames, the container's value has already been encoded.
        guard frames.count == level else { return fail(level, "an encoder is used after its value was encoded") }
        frames.append(Frame(isMap: isMap, start: writer.open()))
    }

    /// Closes the containers at this level and below it.
    func close(to level: Int) {
        while frames.count > level {
            let frame = frames.removeLast()
            do {
                let moved = try writer.close(at: frame.start, items: frame.items, isMap: frame.isMap, format)
                // Only the last children are affected, because children are in the order of their places.
                var index = children.endIndex
                while moved > 0, index > 0, children[index - 1].place > frame.start {
                    index -= 1
                    children[index].place += moved
                }
            } catch { fail(level, "a container has too many values") }
        }
    }

    /// Counts the next value of a container.
    @inline(__always) func next(_ level: Int) throws {
        guard frames.count == level + 1 else { throw failure ?? fault((), level, "a container is used after it was closed") }
        frames[level].items += 1
    }

    /// Writes a key of a map.
    @inline(__always) func key<Key: CodingKey>(_ key: Key, _ level: Int) throws {
        if options.integerKeys, let number = key.writtenInteger {
            try next(level)
            frames[level].key = writer.count
            writer.signed(Int64(number), format)
        } else {
            try self.key(key.stringValue, level)
        }
    }

    private func key(_ key: String, _ level: Int) throws {
        try next(level)
        frames[level].key = writer.count
        try writer.text(key, format)
    }

    /// Writes an empty map for a value that encoded nothing.
    private func empty() { writer.append(format == .cbor ? 0xA0 : 0x80) }

    // MARK: Values

    func write(_ text: String, _ level: Int) throws {
        do { try writer.text(text, format) } catch { throw fault(text, level, "a text is too long", error) }
    }

    /// Writes a value of any type; its containers are at this level.
    func write<Value: Encodable>(_ value: Value, _ level: Int, isTop: Bool = false) throws {
        if try writeKnown(value, level) { return }
        let before = writer.count
        try value.encode(to: BinaryEncoder(encoding: self, level: level))
        if frames.count > level {
            close(to: level)
        } else if writer.count == before {
            guard !isTop else { throw failure ?? fault(value, level, "the value encoded nothing") }
            empty()
        }
        if let failure { throw failure }
    }

    // MARK: Errors

    /// Returns the coding path of the value at a level.
    func path(_ level: Int) -> [any CodingKey] {
        prefix + frames.prefix(level).map { frame in frame.isMap ? key(at: frame.key) : PathKey(index: frame.items - 1) }
    }

    private func key(at place: Int) -> any CodingKey {
        var reader = ByteReader(writer.bytes, from: place)
        switch try? reader.head(format) {
        case .text(let length): return PathKey(stringValue: (try? reader.text(length)) ?? "")
        case .unsigned(let number): return PathKey(intValue: Int(number))
        case .negative(let number): return PathKey(intValue: ~Int(number))
        default: return PathKey(stringValue: "")
        }
    }

    func fault(_ value: Any, _ level: Int, _ text: String, _ error: (any Error)? = nil) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: path(level), debugDescription: text, underlyingError: error))
    }

    private func fail(_ level: Int, _ text: String) { fail(fault((), level, text)) }

    /// Records an error that cannot be thrown where it happens; the first one counts.
    func fail(_ error: any Error) {
        if failure == nil { failure = error }
    }

    /// Writes a value of a type that has its own form in these formats or a faster path; returns false for any other type.
    func writeKnown<Value: Encodable>(_ value: Value, _ level: Int) throws -> Bool {
        // Comparing types is much cheaper than casting values.
        if Value.self == String.self {
            try write(unsafeBitCast(value, to: String.self), level)
        } else if Value.self == Double.self {
            writer.float(unsafeBitCast(value, to: Double.self), format)
        } else if Value.self == Int.self {
            writer.signed(Int64(unsafeBitCast(value, to: Int.self)), format)
        } else if Value.self == Date.self {
            try write(date: unsafeBitCast(value, to: Date.self), level)
        } else if options.byteArrays, Value.self == [UInt8].self {
            try unsafeBitCast(value, to: [UInt8].self).withUnsafeBytes { try writer.binary($0, format) }
        } else if Value.self == Data.self {
            try unsafeBitCast(value, to: Data.self).withUnsafeBytes { try writer.binary($0, format) }
        } else if Value.self == Bool.self {
            writer.bool(unsafeBitCast(value, to: Bool.self), format)
        } else if Value.self == Float.self {
            writer.float(Double(unsafeBitCast(value, to: Float.self)), format)
        } else if Value.self == URL.self, let url = value as? URL {
            try write(url.absoluteString, level)
        } else if Value.self == Decimal.self {
            try write(unsafeBitCast(value, to: Decimal.self).description, level)
        } else {
            return false
        }
        return true
    }

    private func write(date: Date, _ level: Int) throws {
        guard let time = Timestamp(date) else {
            // Foundation cannot print such a date, so the error contains its number of seconds.
            throw fault(date.timeIntervalSinceReferenceDate, level, "the date is out of range")
        }
        switch options.dates {
        case .native: writer.timestamp(time, format)
        case .seconds: writer.float(date.timeIntervalSince1970, format)
        case .iso8601: try write(time.description, level)
        }
    }
}

extension CodingKey {
    /// The integer value of the key; nil also for a text such as `05`, which would be decoded as a different key.
    fileprivate var writtenInteger: Int? {
        guard let number = intValue, Int(stringValue) != number || String(number) == stringValue else { return nil }
        return number
    }
}

extension Timestamp {
    /// The seconds from 1970 to 2001, the reference date of `Date`.
    private static let reference: Int64 = 978_307_200

    /// Creates the timestamp of a date; nil if the date is not finite or out of range.
    init?(_ date: Date) {
        // A double of seconds since 1970 would be less precise than the date.
        let seconds = date.timeIntervalSinceReferenceDate
        let whole = seconds.rounded(.down)
        guard let second = Int64(exactly: whole) else { return nil }
        let (sum, overflow) = second.addingReportingOverflow(Self.reference)
        guard !overflow else { return nil }
        self.init(sum, fraction: seconds - whole)
    }

    /// The nearest date to the timestamp.
    var date: Date {
        let (seconds, overflow) = seconds.subtractingReportingOverflow(Self.reference)
        let whole = overflow ? Double(self.seconds) - Double(Self.reference) : Double(seconds)
        return Date(timeIntervalSinceReferenceDate: whole + Double(nanoseconds) / 1_000_000_000)
    }
}
