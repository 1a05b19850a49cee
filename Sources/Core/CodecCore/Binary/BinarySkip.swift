extension ByteReader {
    /// The maximum nesting depth of open CBOR containers in values that are skipped.
    @usableFromInline static var openDepth: Int { 128 }

    /// Skips the next value of any kind and depth.
    @inlinable public mutating func skipValue(_ format: BinaryFormat) throws(CodecError) {
        try skipValues(1, format, open: 0)
    }

    /// Skips this many values.
    ///
    /// Only open containers use a level of the stack.
    @usableFromInline mutating func skipValues(_ count: Int, _ format: BinaryFormat, open: Int) throws(CodecError) {
        var waiting = count
        while waiting > 0 {
            // Each value takes at least one byte. This check also keeps the sum small.
            guard waiting <= left else { throw CodecError(.truncated, at: end) }
            let start = position
            waiting &-= 1
            switch try head(format) {
            case .null, .bool, .unsigned, .negative, .float, .simple: break
            case .text(let length), .bytes(let length), .extension(_, let length): try skip(length)
            case .array(let items): waiting &+= items
            case .map(let pairs): waiting &+= 2 &* pairs
            case .tag: waiting &+= 1
            case .openText, .openBytes: while try skipPiece(of: start, format) {}
            case .openArray: while try skipOpen(1, format, open: open) {}
            case .openMap: while try skipOpen(2, format, open: open) {}
            case .stop: throw CodecError(.malformed, at: start)
            }
        }
    }

    /// Skips the values of one element, or the stop; returns false at the stop.
    private mutating func skipOpen(_ values: Int, _ format: BinaryFormat, open: Int) throws(CodecError) -> Bool {
        guard open < Self.openDepth else { throw CodecError(.tooDeep, at: position) }
        if atStop { return false }
        try skipValues(values, format, open: open + 1)
        return true
    }

    /// Whether the stop of an open container is next; if it is, it is consumed.
    @inlinable package var atStop: Bool {
        mutating get {
            guard peek() == 0xFF else { return false }
            position &+= 1
            return true
        }
    }

    /// Skips a piece of an open text or byte string; returns false at the stop.
    private mutating func skipPiece(of start: Int, _ format: BinaryFormat) throws(CodecError) -> Bool {
        guard let length = try piece(of: start, format) else { return false }
        try skip(length)
        return true
    }

    /// Reads the head of a piece of the open text or byte string that began at `start`; returns its length, or nil at the stop.
    mutating func piece(of start: Int, _ format: BinaryFormat) throws(CodecError) -> Int? {
        let place = position
        // RFC 8949 §3.2.3: pieces have a definite length and the same kind.
        let isText = unsafe base.load(fromByteOffset: start, as: UInt8.self) == 0x7F
        switch try head(format) {
        case .stop: return nil
        case .text(let length) where isText: return length
        case .bytes(let length) where !isText: return length
        default: throw CodecError(.malformed, at: place)
        }
    }

    /// Skips the next value and accepts exactly what ``value(_:levels:)`` accepts, without creating a value.
    package mutating func checkValue(_ format: BinaryFormat, levels: Int) throws(CodecError) {
        let start = position
        switch try head(format) {
        case .null, .bool, .unsigned, .negative, .float: break
        case .text(let length): try checkText(length)
        case .bytes(let length), .extension(_, let length): try skip(length)
        case .openText: while let length = try piece(of: start, format) { try checkText(length) }
        case .openBytes: while let length = try piece(of: start, format) { try skip(length) }
        case .array(let count):
            try checkDepth(levels, at: start)
            for _ in 0..<count { try checkValue(format, levels: levels &- 1) }
        case .map(let count):
            try checkDepth(levels, at: start)
            for _ in 0..<(2 &* count) { try checkValue(format, levels: levels &- 1) }
        case .openArray:
            try checkDepth(levels, at: start)
            while !atStop { try checkValue(format, levels: levels &- 1) }
        case .openMap:
            try checkDepth(levels, at: start)
            while !atStop {
                try checkValue(format, levels: levels &- 1)
                try checkValue(format, levels: levels &- 1)
            }
        case .tag:
            try checkDepth(levels, at: start)
            try checkValue(format, levels: levels &- 1)
        case .stop: throw CodecError(.malformed, at: start)
        case .simple: throw CodecError(.unsupported, at: start)
        }
    }

    private func checkDepth(_ levels: Int, at start: Int) throws(CodecError) {
        guard levels > 0 else { throw CodecError(.tooDeep, at: start) }
    }

    private mutating func checkText(_ length: Int) throws(CodecError) {
        let start = position
        guard unsafe try take(length).isUTF8 else { throw CodecError(.invalidText, at: start) }
    }
}
