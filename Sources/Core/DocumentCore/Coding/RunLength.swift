// The run-length coders of lib0 (encoding.js: RleEncoder, UintOptRleEncoder, IntDiffOptRleEncoder, StringEncoder). Version 2 of the
// update format keeps one of them for each column.

/// Writes a byte, and how often it repeats.
///
/// The last run has no count.
struct ByteRunWriter {
    private var out = Lib0Writer()
    private var last: UInt8 = 0
    private var count = 0

    mutating func write(_ byte: UInt8) {
        if count > 0, byte == last {
            count += 1
            return
        }
        if count > 0 { out.uint(count - 1) }
        (last, count) = (byte, 1)
        out.byte(byte)
    }

    var bytes: [UInt8] { out.bytes }
}

/// Reads what ``ByteRunWriter`` writes.
///
/// The last byte repeats without end.
struct ByteRunReader {
    private var reader: Lib0Reader
    private var last: UInt8 = 0
    private var count = 0
    private var isEndless = false

    init(_ reader: Lib0Reader) { self.reader = reader }

    mutating func read() throws(DocumentError) -> UInt8 {
        if isEndless { return last }
        if count == 0 {
            last = try reader.byte()
            if reader.isAtEnd { isEndless = true } else { count = Int(try reader.uint()) + 1 }
        }
        count -= 1
        return last
    }
}

/// Writes numbers.
///
/// A number that repeats is written with a minus, and with its count.
struct NumberRunWriter {
    private var out = Lib0Writer()
    private var last: UInt64 = 0
    private var count = 0

    mutating func write(_ number: UInt64) {
        if count > 0, number == last {
            count += 1
            return
        }
        flush()
        (last, count) = (number, 1)
    }

    private mutating func flush() {
        guard count > 0 else { return }
        out.int(last, isNegative: count > 1)
        if count > 1 { out.uint(count - 2) }
    }

    consuming func finish() -> [UInt8] {
        flush()
        return out.bytes
    }
}

/// Reads what ``NumberRunWriter`` writes.
struct NumberRunReader {
    private var reader: Lib0Reader
    private var last: UInt64 = 0
    private var count = 0

    init(_ reader: Lib0Reader) { self.reader = reader }

    mutating func read() throws(DocumentError) -> UInt64 {
        if count == 0 {
            let (magnitude, isNegative) = try reader.int()
            last = UInt64(magnitude)
            // −0 is a run of zeros, so the sign counts and not the value.
            count = isNegative ? Int(try reader.uint()) + 2 : 1
        }
        count -= 1
        return last
    }
}

/// Writes the differences between numbers.
///
/// The lowest bit says whether a count follows.
struct DifferenceRunWriter {
    private var out = Lib0Writer()
    private var last: Int64 = 0
    private var difference: Int64 = 0
    private var count = 0

    mutating func write(_ number: Int64) {
        if count > 0, number - last == difference {
            last = number
            count += 1
            return
        }
        flush()
        (difference, last, count) = (number - last, number, 1)
    }

    private mutating func flush() {
        guard count > 0 else { return }
        out.int(difference * 2 + (count > 1 ? 1 : 0))
        if count > 1 { out.uint(count - 2) }
    }

    consuming func finish() -> [UInt8] {
        flush()
        return out.bytes
    }
}

/// Reads what ``DifferenceRunWriter`` writes.
struct DifferenceRunReader {
    private var reader: Lib0Reader
    private var last: Int64 = 0
    private var difference: Int64 = 0
    private var count = 0

    init(_ reader: Lib0Reader) { self.reader = reader }

    mutating func read() throws(DocumentError) -> Int64 {
        if count == 0 {
            let (magnitude, isNegative) = try reader.int()
            let coded = isNegative ? -magnitude : magnitude
            difference = coded >> 1
            count = coded & 1 == 1 ? Int(try reader.uint()) + 2 : 1
        }
        count -= 1
        last += difference
        // A hostile run could count beyond any clock, and at last beyond 64 bits.
        guard abs(last) < 1 << 53 else { throw reader.failure(.malformed) }
        return last
    }
}

/// Writes strings as one long string, and their lengths in UTF-16 units.
struct StringRunWriter {
    private var text = Lib0Writer()
    private var lengths = NumberRunWriter()

    mutating func write(_ string: String) {
        text.bytes += string.utf8
        lengths.write(UInt64(string.utf16.count))
    }

    mutating func write(_ units: ArraySlice<UInt16>) {
        text.bytes.append(utf16: units)
        lengths.write(UInt64(units.count))
    }

    consuming func finish() -> [UInt8] {
        var out = Lib0Writer()
        out.byteString(text.bytes)
        out.bytes += lengths.finish()
        return out.bytes
    }
}

/// Reads what ``StringRunWriter`` writes.
struct StringRunReader {
    private var units: ContiguousArray<UInt16> = []
    private var lengths: NumberRunReader
    private var position = 0
    private let reader: Lib0Reader

    init(_ reader: Lib0Reader) throws(DocumentError) {
        var reader = reader
        _ = try reader.units(into: &units)
        lengths = NumberRunReader(reader)
        self.reader = reader
    }

    private mutating func next() throws(DocumentError) -> Range<Int> {
        let length = try lengths.read()
        guard length <= UInt64(units.count - position) else { throw reader.failure(.invalidText) }
        defer { position += Int(length) }
        return position..<position + Int(length)
    }

    mutating func read() throws(DocumentError) -> String {
        let range = try next()
        return String(utf16: units[range])
    }

    mutating func read(into units: inout ContiguousArray<UInt16>) throws(DocumentError) -> Int {
        let range = try next()
        units.append(contentsOf: self.units[range])
        return range.count
    }
}
