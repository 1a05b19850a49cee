import Holdfast

/// Cuts a stream of bytes into lines, at whatever points the reads cut it.
struct LineSplitter: Hashable, Sendable {
    enum Line: Hashable, Sendable {
        case text(String)
        /// The line with this number (from 1) is not UTF-8, so it cannot be a text message.
        case invalid(number: Int)
    }

    private var rest: [UInt8] = []
    private var count = 0

    /// Lines completed by these bytes, without their ends (LF or CR LF).
    mutating func split(_ bytes: [UInt8]) -> [Line] {
        var lines: [Line] = []
        var slice = bytes[...]
        while let end = slice.firstIndex(of: 0x0A) {
            rest += slice[..<end]
            lines.append(takeRest())
            slice = slice[slice.index(after: end)...]
        }
        rest += slice
        return lines
    }

    /// The last line, when the input did not end with a line end.
    mutating func finish() -> Line? { rest.isEmpty ? nil : takeRest() }

    private mutating func takeRest() -> Line {
        if rest.last == 0x0D { rest.removeLast() }
        count += 1
        defer { rest.removeAll(keepingCapacity: true) }
        var validator = UTF8Validator()
        let isText = rest.withUnsafeBytes { validator.validate($0) } && validator.isComplete
        return isText ? .text(String(decoding: rest, as: UTF8.self)) : .invalid(number: count)
    }
}
