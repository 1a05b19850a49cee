/// A simple second DEFLATE decoder (RFC 1951) that also measures the longest distance of a match.
struct ReferenceInflate {
    enum Failure: Error { case malformed, endOfInput }

    private(set) var output: [UInt8] = []
    /// The longest distance of any match so far.
    private(set) var farthest = 0
    private var input: [UInt8] = []
    private var bit = 0

    /// Decodes a message of RFC 7692 without its tail.
    mutating func message(_ bytes: [UInt8]) throws -> [UInt8] {
        (input, bit) = (bytes + [0, 0, 0xFF, 0xFF], 0)
        let start = output.count
        while bit < input.count * 8 {
            if try block() { bit = (bit + 7) / 8 * 8 }
        }
        return Array(output[start...])
    }

    /// Decodes a block.
    ///
    /// Returns whether it had BFINAL.
    private mutating func block() throws -> Bool {
        let isFinal = try bits(1) == 1
        switch try bits(2) {
        case 0: try stored()
        case 1: try compressed(Code(lengths: Self.fixedLengths), Code(lengths: Array(repeating: 5, count: 30)))
        case 2: try dynamic()
        default: throw Failure.malformed
        }
        return isFinal
    }

    private mutating func stored() throws {
        bit = (bit + 7) / 8 * 8
        let (count, complement) = (try bits(16), try bits(16))
        guard count ^ complement == 0xFFFF else { throw Failure.malformed }
        for _ in 0..<count { output.append(UInt8(try bits(8))) }
    }

    private mutating func dynamic() throws {
        let (literals, distances, codes) = (try bits(5) + 257, try bits(5) + 1, try bits(4) + 4)
        var lengths = [Int](repeating: 0, count: 19)
        for place in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15].prefix(codes) { lengths[place] = try bits(3) }
        let code = Code(lengths: lengths)
        lengths = []
        while lengths.count < literals + distances {
            switch try symbol(code) {
            case 16:
                guard let last = lengths.last else { throw Failure.malformed }
                lengths += Array(repeating: last, count: try bits(2) + 3)
            case 17: lengths += Array(repeating: 0, count: try bits(3) + 3)
            case 18: lengths += Array(repeating: 0, count: try bits(7) + 11)
            case let length: lengths.append(length)
            }
        }
        guard lengths.count == literals + distances else { throw Failure.malformed }
        try compressed(Code(lengths: Array(lengths[..<literals])), Code(lengths: Array(lengths[literals...])))
    }

    private mutating func compressed(_ literals: Code, _ distances: Code) throws {
        while true {
            let symbol = try symbol(literals)
            if symbol < 256 {
                output.append(UInt8(symbol))
                continue
            }
            if symbol == 256 { return }
            guard symbol < 286 else { throw Failure.malformed }
            let length = symbol == 285 ? 258 : try value(symbol - 257, base: 3, perStep: 4)
            let distance = try value(try self.symbol(distances), base: 1, perStep: 2)
            guard distance <= output.count else { throw Failure.malformed }
            farthest = max(farthest, distance)
            for _ in 0..<length { output.append(output[output.count - distance]) }
        }
    }

    /// Lengths and distances in steps, each with one extra bit more than the step before (RFC 1951 §3.2.5).
    private mutating func value(_ index: Int, base: Int, perStep: Int) throws -> Int {
        guard index >= 2 * perStep else { return base + index }
        let extra = index / perStep - 1
        return base + ((perStep + index % perStep) << extra) + (try bits(extra))
    }

    private mutating func bits(_ count: Int) throws -> Int {
        guard bit + count <= input.count * 8 else { throw Failure.endOfInput }
        defer { bit += count }
        return (0..<count).reduce(0) { $0 | Int(input[(bit + $1) / 8] >> ((bit + $1) % 8) & 1) << $1 }
    }

    private mutating func symbol(_ code: Code) throws -> Int {
        var (path, first, index) = (0, 0, 0)
        for length in 1...15 {
            path |= try bits(1)
            let count = code.counts[length]
            if path - first < count { return code.symbols[index + path - first] }
            index += count
            first = (first + count) << 1
            path <<= 1
        }
        throw Failure.malformed
    }

    /// A canonical Huffman code (RFC 1951 §3.2.2).
    private struct Code {
        var counts = [Int](repeating: 0, count: 16)
        let symbols: [Int]

        init(lengths: [Int]) {
            for length in lengths where length > 0 { counts[length] += 1 }
            symbols = (1...15).flatMap { length in lengths.indices.filter { lengths[$0] == length } }
        }
    }

    private static let fixedLengths = (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 }
}
