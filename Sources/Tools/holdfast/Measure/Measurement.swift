import CodecCore
import HoldfastTerminal
import WebSocketCore
import WebSocketRuntime

/// Measures the costs of messages in every format.
struct Measurement {
    let messages: [Value]
    let stopwatch: Stopwatch

    /// Encodes all messages in all formats, and times each step; all work runs on the caller's thread.
    func report() throws -> MeasureReport {
        let payloads = try MeasuredFormat.allCases.map { format in try messages.map { try format.encode($0) } }
        let deflated = payloads.map {
            [DeflatedMessages(payloads: $0, takesContextOver: false), .init(payloads: $0, takesContextOver: true)]
        }
        let works = zip(MeasuredFormat.allCases, zip(payloads, deflated)).flatMap { format, bytes in
            steps(format, payloads: bytes.0, deflated: bytes.1)
        }
        let times = stopwatch.times(of: works)
        let costs = try MeasuredFormat.allCases.enumerated().map { place, format in
            let own = Array(times[(place * 4)..<(place * 4 + 4)])
            return FormatCost(
                format: format.rawValue, plain: payloads[place].reduce(0) { $0 + $1.count }, deflated: try deflated[place][0].exchange(),
                deflatedWithTakeover: try deflated[place][1].exchange(), encode: own[0], decode: own[1], deflate: own[2],
                deflateWithTakeover: own[3])
        }
        return MeasureReport(costs, messages: messages.count)
    }

    /// Returns the steps to time: encode, decode, deflate and inflate, and the same with context takeover.
    ///
    /// Errors are ignored here, because they also occur when the bytes are counted.
    private func steps(_ format: MeasuredFormat, payloads: [[UInt8]], deflated: [DeflatedMessages]) -> [() -> Void] {
        [
            { for message in messages { _ = try? format.encode(message) } },
            { for payload in payloads { _ = try? format.decode(payload) } },
            { _ = try? deflated[0].exchange() },
            { _ = try? deflated[1].exchange() },
        ]
    }
}

/// The messages of a file: the elements of one array, one JSON value per line, or one value.
struct MeasureInput {
    /// The reason why nothing can be measured.
    enum Problem: Error, Hashable, CustomStringConvertible {
        /// The input is longer than allowed.
        case tooLarge(limit: Int)
        /// Not JSON; lines and columns count from 1, columns in bytes; the offset in bytes counts from 0.
        case malformed(CodecError.Code, line: Int, column: Int, offset: Int)
        /// There is no message.
        case empty

        var description: String {
            switch self {
            case .tooLarge(let limit): "more than \(limit.bytesPhrase); see --max-size"
            case .malformed(let code, let line, let column, let offset):
                "not JSON: \(code) (line \(line), column \(column); byte \(offset))"
            case .empty: "it contains no message: give an array of messages, or one message per line"
            }
        }
    }

    let messages: [Value]

    /// Parses the content of a file, up to a number of bytes.
    init(_ bytes: [UInt8], limit: Int) throws(Problem) {
        guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
        switch Self.value(bytes[...]) {
        case .success(.array(let items)): messages = items
        case .success(let value): messages = [value]
        case .failure(let error):
            // If the first line is a complete value, each line is expected to be a value.
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

    /// Returns the lines without those of only white space; nil if there are none.
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

/// A format to measure.
enum MeasuredFormat: String, CaseIterable, Sendable {
    case json = "JSON"
    case messagePack = "MessagePack"
    case cbor = "CBOR"

    /// Encodes a value from JSON; every format can represent it.
    func encode(_ value: Value) throws(CodecError) -> [UInt8] {
        switch self {
        case .json: try value.json()
        case .messagePack: try value.encoded(as: .messagePack)
        case .cbor: try value.encoded(as: .cbor)
        }
    }

    /// Decodes the bytes of ``encode(_:)``.
    func decode(_ bytes: [UInt8]) throws -> Value {
        let limits = CodecLimits(maximumBytes: .max)
        return try bytes.withUnsafeBytes { bytes in
            switch self {
            case .json: try Value(json: bytes.bytes, limits: limits)
            case .messagePack: try Value(decoding: bytes.bytes, as: .messagePack, limits: limits)
            case .cbor: try Value(decoding: bytes.bytes, as: .cbor, limits: limits)
            }
        }
    }
}

/// Payloads that are compressed with permessage-deflate, with a window of 32 KiB and the default level.
struct DeflatedMessages {
    let payloads: [[UInt8]]
    /// Whether a message may refer to earlier ones.
    let takesContextOver: Bool

    /// Deflates and inflates all payloads, as the two ends of one connection do.
    ///
    /// - Returns: The number of compressed bytes.
    func exchange() throws -> Int {
        let parameters = DeflateParameters(
            serverNoContextTakeover: !takesContextOver, clientNoContextTakeover: !takesContextOver, serverMaxWindowBits: 15,
            clientMaxWindowBits: 15)
        let deflater = Deflater(parameters: parameters, role: .client)
        let inflater = Inflater(parameters: parameters, role: .server)
        var (total, packed, unpacked) = (0, [UInt8](), [UInt8]())
        for payload in payloads {
            packed.removeAll(keepingCapacity: true)
            unpacked.removeAll(keepingCapacity: true)
            payload.withUnsafeBytes { deflater.deflate($0, isLast: true, into: &packed) }
            total += packed.count
            try packed.withUnsafeBytes { try inflater.inflate($0, into: &unpacked, limit: payload.count) }
            try inflater.finish(into: &unpacked, limit: payload.count - unpacked.count)
        }
        return total
    }
}

/// Measures how long pieces of work take, with a given clock.
struct Stopwatch {
    /// The number of rounds per piece of work; the median counts.
    var rounds = 5
    /// The minimum time of a sample: shorter work is repeated, because clocks are not exact.
    var atLeast = Duration.milliseconds(10)
    /// The total time for one piece of work after which no further round begins; the first round always runs.
    var patience = Duration.seconds(2)
    let now: () -> Duration

    init(now: @escaping () -> Duration) { self.now = now }

    /// Returns the time of one run of each work; the works alternate, so that a temporarily slow machine affects all of them.
    func times(of works: [() -> Void]) -> [Duration] {
        var samples = [[Duration]](repeating: [], count: works.count)
        var spent = [Duration](repeating: .zero, count: works.count)
        let repetitions = works.map(repetitions)
        for _ in 0..<max(1, rounds) {
            for (place, work) in works.enumerated() where samples[place].isEmpty || spent[place] < patience {
                let time = time(of: work, repetitions[place])
                spent[place] += time
                samples[place].append(time / repetitions[place])
            }
        }
        return samples.map { $0.sorted()[$0.count / 2] }
    }

    /// Returns how often the work must be repeated to take long enough; this also warms it up.
    private func repetitions(_ work: () -> Void) -> Int {
        var count = 1
        while count < 1 << 24, time(of: work, count) < atLeast { count *= 2 }
        return count
    }

    private func time(of work: () -> Void, _ repetitions: Int) -> Duration {
        let start = now()
        for _ in 0..<repetitions { work() }
        return now() - start
    }
}
