import CodecCore

/// Arguments as a peer sent them: well-formed bytes of a list, behind them those of a dictionary or nothing; never both empty.
struct RawArguments: Sendable {
    /// In JSON with the comma, and all space, that stood between the two.
    let bytes: [UInt8]
    let listEnd: UInt32
    /// The end of the bytes if there is no dictionary.
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

    /// Reads where a value begins.
    ///
    /// It was checked when it came, how deep it is too.
    func read<Result>(from start: UInt32, _ body: (inout ByteReader) throws(CodecError) -> Result) throws(CodecError) -> Result {
        try unsafe bytes.withUnsafeBytes { bytes -> Swift.Result<Result, CodecError> in
            var reader = unsafe ByteReader(bytes, from: Int(start))
            do throws(CodecError) { return .success(try body(&reader)) } catch { return .failure(error) }
        }.get()
    }

    /// The items of a list, or the entries of a dictionary.
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
