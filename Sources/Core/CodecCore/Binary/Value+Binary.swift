extension Value {
    /// Decodes these bytes as exactly one value.
    ///
    /// - Throws: A ``CodecError`` if they are not valid in the format, if bytes follow, or if a limit is exceeded.
    public init(decoding bytes: RawSpan, as format: BinaryFormat, limits: CodecLimits = .standard) throws(CodecError) {
        guard bytes.byteCount <= limits.maximumBytes else { throw CodecError(.tooLarge, at: limits.maximumBytes) }
        // A typed error cannot pass through the closure.
        self = try unsafe bytes.withUnsafeBytes { bytes -> Result<Value, CodecError> in
            var reader = unsafe ByteReader(bytes)
            do throws(CodecError) {
                let value = try reader.value(format, levels: limits.maximumDepth)
                guard reader.left == 0 else { throw CodecError(.trailingBytes, at: reader.position) }
                return .success(value)
            } catch { return .failure(error) }
        }.get()
    }

    /// Encodes the value in the shortest form.
    ///
    /// - Throws: A ``CodecError`` for a value that the format does not support: a tag in MessagePack, an extension in CBOR.
    public func encoded(as format: BinaryFormat) throws(CodecError) -> [UInt8] {
        var writer = ByteWriter()
        try writer.value(self, format)
        return writer.array()
    }
}

extension ByteReader {
    /// Reads the next value, with at most this many levels of nested values.
    public mutating func value(_ format: BinaryFormat, levels: Int) throws(CodecError) -> Value {
        let start = position
        switch try head(format) {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .unsigned(let number): return Value(number)
        case .negative(let number):
            // A number below Int64.min becomes a bignum. RFC 8949 §3.4.3.
            return Int64(exactly: number).map { .integer(~$0) } ?? .tagged(3, .bytes(number.bigEndianBytes))
        case .float(let number): return .float(number)
        case .text(let length): return .text(try text(length))
        case .bytes(let length): return .bytes(unsafe [UInt8](try take(length)))
        case .openText: return .text(try openText(from: start, format))
        case .openBytes: return .bytes(try openBytes(from: start, format))
        case .array(let count):
            try check(levels, at: start)
            var items: [Value] = []
            items.reserveCapacity(Self.reserved(count))
            for _ in 0..<count { items.append(try value(format, levels: levels - 1)) }
            return .array(items)
        case .openArray:
            try check(levels, at: start)
            var items: [Value] = []
            while !atStop { items.append(try value(format, levels: levels - 1)) }
            return .array(items)
        case .map(let count):
            try check(levels, at: start)
            var entries: [ValueMap.Entry] = []
            entries.reserveCapacity(Self.reserved(count))
            for _ in 0..<count { entries.append(try entry(format, levels: levels - 1)) }
            return .map(ValueMap(entries))
        case .openMap:
            try check(levels, at: start)
            var entries: [ValueMap.Entry] = []
            while !atStop { entries.append(try entry(format, levels: levels - 1)) }
            return .map(ValueMap(entries))
        case .extension(let type, let length):
            let content = position
            if type == -1, let time = try messagePackTimestamp(length) { return .timestamp(time) }
            position = content
            return .extension(type: type, unsafe [UInt8](try take(length)))
        case .tag(let tag):
            try check(levels, at: start)
            return Self.tagged(tag, try value(format, levels: levels - 1))
        case .stop: throw CodecError(.malformed, at: start)
        case .simple: throw CodecError(.unsupported, at: start)
        }
    }

    /// Returns for how many values memory is reserved in advance.
    ///
    /// It is limited because a peer can announce large lengths on every level with few bytes.
    private static func reserved(_ count: Int) -> Int { min(count, 64) }

    private func check(_ levels: Int, at start: Int) throws(CodecError) {
        guard levels > 0 else { throw CodecError(.tooDeep, at: start) }
    }

    private mutating func entry(_ format: BinaryFormat, levels: Int) throws(CodecError) -> ValueMap.Entry {
        let key = try value(format, levels: levels)
        return ValueMap.Entry(key: key, value: try value(format, levels: levels))
    }

    // RFC 8949 §3.4.2
    private static func tagged(_ tag: UInt64, _ value: Value) -> Value {
        guard tag == 1 else { return .tagged(tag, value) }
        switch value {
        case .integer(let seconds): return .timestamp(Timestamp(seconds: seconds))
        case .float(let seconds): return Timestamp(secondsSince1970: seconds).map { .timestamp($0) } ?? .tagged(tag, value)
        default: return .tagged(tag, value)
        }
    }

    /// Reads a text of this length.
    @inlinable public mutating func text(_ length: Int) throws(CodecError) -> String {
        let start = position
        guard let text = unsafe String(utf8: try take(length)) else { throw CodecError(.invalidText, at: start) }
        return text
    }

    /// Reads the pieces of an open text that began at `start`, and the stop.
    public mutating func openText(from start: Int, _ format: BinaryFormat) throws(CodecError) -> String {
        var text = ""
        // RFC 8949 §3.2.3: each piece is a valid text of its own.
        while let length = try piece(of: start, format) { text += try self.text(length) }
        return text
    }

    /// Reads the pieces of an open byte string that began at `start`, and the stop.
    public mutating func openBytes(from start: Int, _ format: BinaryFormat) throws(CodecError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let length = try piece(of: start, format) { unsafe bytes += try take(length) }
        return bytes
    }
}

extension ByteWriter {
    /// Appends a value.
    public mutating func value(_ value: Value, _ format: BinaryFormat) throws(CodecError) {
        switch value {
        case .null: null(format)
        case .bool(let value): bool(value, format)
        case .integer(let number): signed(number, format)
        case .unsigned(let number): unsigned(number, format)
        case .float(let number): float(number, format)
        case .text(let string): try text(string, format)
        case .bytes(let bytes): try unsafe bytes.borrowed { bytes throws(CodecError) in try unsafe binary(bytes, format) }
        case .array(let items):
            try array(items.count, format)
            for item in items { try self.value(item, format) }
        case .map(let map):
            try self.map(map.count, format)
            for entry in map {
                try self.value(entry.key, format)
                try self.value(entry.value, format)
            }
        case .timestamp(let time): timestamp(time, format)
        case .extension(let type, let bytes):
            try unsafe bytes.borrowed { bytes throws(CodecError) in try unsafe self.extension(type: type, bytes, format) }
        case .tagged(let tag, let value):
            try self.tag(tag, format)
            try self.value(value, format)
        }
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes, and passes typed errors through.
    func borrowed(_ body: (UnsafeRawBufferPointer) throws(CodecError) -> Void) throws(CodecError) {
        try unsafe withUnsafeBytes { bytes -> Result<Void, CodecError> in
            do throws(CodecError) { return .success(unsafe try body(bytes)) } catch { return .failure(error) }
        }.get()
    }
}

extension UInt64 {
    /// The bytes, most significant first.
    fileprivate var bigEndianBytes: [UInt8] { unsafe withUnsafeBytes(of: bigEndian) { unsafe [UInt8]($0) } }
}
