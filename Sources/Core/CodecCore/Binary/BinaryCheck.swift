extension ByteReader {
    /// Goes past the next value, and takes exactly what ``value(_:levels:)`` takes, without making a value of it.
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
