import CodecCore

/// The messages of a file: the elements of one array, one JSON value a line, or one value.
struct MeasureInput {
    /// Why nothing can be measured.
    enum Problem: Error, Hashable, CustomStringConvertible {
        /// Longer than allowed.
        case tooLarge(limit: Int)
        /// No JSON; lines and columns count from 1, columns in bytes, and so does the offset from 0.
        case malformed(CodecError.Code, line: Int, column: Int, offset: Int)
        /// Not a single message.
        case empty

        var description: String {
            switch self {
            case .tooLarge(let limit): "more than \(limit.bytesPhrase); see --max-size"
            case .malformed(let code, let line, let column, let offset):
                "no JSON: \(code) (line \(line), column \(column); byte \(offset))"
            case .empty: "no message in it: give an array of messages, or one message a line"
            }
        }
    }

    let messages: [Value]

    /// Reads what a file holds, up to so many bytes.
    init(_ bytes: [UInt8], limit: Int) throws(Problem) {
        guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
        switch Self.value(bytes[...]) {
        case .success(.array(let items)): messages = items
        case .success(let value): messages = [value]
        case .failure(let error):
            // A first line that is complete by itself says that there is a value on each.
            guard let lines = Self.lines(bytes), lines.count > 1, case .success = Self.value(lines[0]) else {
                throw Self.problem(error, in: bytes)
            }
            var values: [Value] = []
            for line in lines {
                switch Self.value(line) {
                case .success(let value): values.append(value)
                case .failure(let error): throw Self.problem(CodecError(error.code, at: line.startIndex + error.offset), in: bytes)
                }
            }
            messages = values
        }
        if messages.isEmpty { throw .empty }
    }

    /// What is between line ends, without lines of white space; nil if there is no such line.
    private static func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>]? {
        let lines = bytes.split(separator: UInt8(ascii: "\n")).filter { $0.contains { !" \t\r".utf8.contains($0) } }
        return lines.isEmpty ? nil : lines
    }

    private static func value(_ bytes: ArraySlice<UInt8>) -> Result<Value, CodecError> {
        bytes.withUnsafeBytes { bytes in
            do throws(CodecError) {
                return .success(try Value(json: bytes.bytes, limits: CodecLimits(maximumBytes: .max)))
            } catch { return .failure(error) }
        }
    }

    private static func problem(_ error: CodecError, in bytes: [UInt8]) -> Problem {
        guard bytes.contains(where: { !" \t\r\n".utf8.contains($0) }) else { return .empty }
        let before = bytes.prefix(error.offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let column = before.count - (before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0) + 1
        return .malformed(error.code, line: line, column: column, offset: error.offset)
    }
}
