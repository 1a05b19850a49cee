import MachineCore
import WebSocketCore
import WebSocketRuntime

extension Inflater {
    /// Inflates a message given in these pieces.
    func message(inPieces pieces: [[UInt8]], limit: Int = 1 << 26) throws -> [UInt8] {
        var output: [UInt8] = []
        for piece in pieces {
            try piece.withUnsafeBytes { try inflate($0, into: &output, limit: limit - output.count) }
        }
        try finish(into: &output, limit: limit - output.count)
        return output
    }

    func message(_ bytes: [UInt8], limit: Int = 1 << 26) throws -> [UInt8] { try message(inPieces: [bytes], limit: limit) }
}

extension Inflater {
    /// Inflates a message with its tail into buffers of these lengths.
    func message(withTail bytes: [UInt8], bufferLengths: () -> Int) throws -> [UInt8] {
        var output: [UInt8] = []
        try bytes.withUnsafeBytes {
            var (input, isFull) = ($0, true)
            while isFull {
                let length = bufferLengths()
                try withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) {
                    var free = $0
                    try inflate(&input, isLast: true, into: &free)
                    output += $0[..<(length - free.count)]
                    isFull = free.isEmpty
                }
            }
            guard input.isEmpty else { throw ProtocolViolation(.invalidCompressedData, "\(input.count) bytes are left") }
        }
        return output
    }
}

extension Deflater {
    /// Compresses a message given in these pieces.
    func message(inPieces pieces: [[UInt8]]) -> [UInt8] {
        var output: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            piece.withUnsafeBytes { deflate($0, isLast: index == pieces.count - 1, into: &output) }
        }
        return output
    }

    func message(_ bytes: [UInt8]) -> [UInt8] { message(inPieces: [bytes]) }
}

extension DeflateParameters {
    /// The same parameters in both directions.
    init(windowBits: Int = 15, takeover: Bool = true) {
        self.init(
            serverNoContextTakeover: !takeover, clientNoContextTakeover: !takeover,
            serverMaxWindowBits: windowBits, clientMaxWindowBits: windowBits)
    }
}

/// Random messages: noise, runs, and text with near and far repetition.
struct Messages {
    private static let words = (0..<4000).map { Array("word\($0 * 7919) ".utf8) }
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func next(count: Int) -> [UInt8] {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: noise(count: count)
        case 1: [UInt8](repeating: UInt8.random(in: .min ... .max, using: &random), count: count)
        case 2: text(count: count, choice: 40)
        default: text(count: count, choice: 4000)
        }
    }

    mutating func noise(count: Int) -> [UInt8] {
        let numbers = (0..<(count / 8 + 1)).map { _ in random.next() }
        return numbers.withUnsafeBytes { Array($0.prefix(count)) }
    }

    mutating func text(count: Int, choice: Int) -> [UInt8] {
        var text: [UInt8] = []
        while text.count < count { text += Self.words[Int.random(in: 0..<choice, using: &random)] }
        return Array(text.prefix(count))
    }
}

extension [UInt8] {
    /// Every split into two pieces.
    var halves: [[[UInt8]]] { (0...count).map { [Array(self[..<$0]), Array(self[$0...])] } }

    /// Pieces of random lengths.
    func pieces(upTo length: Int, using random: inout SplitMix64) -> [[UInt8]] {
        var (pieces, rest) = ([] as [[UInt8]], self[...])
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...length, using: &random))
            pieces.append(Array(piece))
            rest = rest.dropFirst(piece.count)
        }
        return pieces.isEmpty ? [[]] : pieces
    }

    /// Parses text such as `f2 48 cd`.
    init(hex: String) { self = hex.split(separator: " ").map { UInt8($0, radix: 16)! } }
}
