/// A compact, lossless encoding of a series of floating-point numbers.
///
/// Numbers with few decimals, such as prices, are stored as integers and their differences. Other numbers are stored as the bits that
/// differ from the previous number. Any list of codes from a peer decodes to a series: one number for each code.
public struct NumberSeries: Hashable, Sendable, Codable {
    /// The number of decimals of the numbers stored as integers; nil if bits are stored.
    public let decimals: Int?
    /// The encoded differences.
    public let codes: [UInt64]
    /// The powers of ten that a `Double` holds exactly and for which division rounds correctly.
    private static let powers: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

    private enum CodingKeys: String, CodingKey {
        case decimals = "s"
        case codes = "c"
    }

    /// Encodes these numbers.
    public init(_ numbers: [Double]) {
        var decimals = 0
        for number in numbers where decimals < Self.powers.count {
            while decimals < Self.powers.count, Self.integer(number, decimals) == nil { decimals += 1 }
        }
        let integers = decimals < Self.powers.count ? numbers.compactMap { Self.integer($0, decimals) } : []
        if integers.count == numbers.count {
            (self.decimals, codes) = (decimals, ZigZag.differences(integers).map(ZigZag.encode))
        } else {
            (self.decimals, codes) = (nil, Self.bits(numbers))
        }
    }

    /// Reads a series.
    ///
    /// Fails if the number of decimals is out of range.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        decimals = try container.decodeIfPresent(Int.self, forKey: .decimals)
        codes = try container.decode([UInt64].self, forKey: .codes)
        if let decimals, !Self.powers.indices.contains(decimals) {
            throw DecodingError.dataCorruptedError(forKey: .decimals, in: container, debugDescription: "\(decimals) decimals")
        }
    }

    /// The decoded numbers.
    public var numbers: [Double] {
        if let decimals { return ZigZag.sums(codes.map(ZigZag.decode)).map { Double($0) / Self.powers[decimals] } }
        var previous: UInt64 = 0
        return codes.map { code in
            previous ^= code.bitsReversed
            return Double(bitPattern: previous)
        }
    }

    /// Returns the number times a power of ten; nil if that does not convert back exactly.
    private static func integer(_ number: Double, _ decimals: Int) -> Int64? {
        let scaled = (number * powers[decimals]).rounded()
        guard abs(scaled) < 0x1p53 else { return nil }  // Rejects infinity and NaN.
        let integer = Int64(scaled)
        return (Double(integer) / powers[decimals]).bitPattern == number.bitPattern ? integer : nil
    }

    /// Returns the changed bits of each number, reversed, so that the results are small.
    ///
    /// Sign and exponent seldom change, and the end of a short fraction is zero.
    private static func bits(_ numbers: [Double]) -> [UInt64] {
        var previous: UInt64 = 0
        return numbers.map { number in
            defer { previous = number.bitPattern }
            return (number.bitPattern ^ previous).bitsReversed
        }
    }
}

extension UInt64 {
    /// The bits in reverse order.
    var bitsReversed: UInt64 {
        var bits = byteSwapped
        bits = (bits >> 4) & 0x0F0F_0F0F_0F0F_0F0F | (bits & 0x0F0F_0F0F_0F0F_0F0F) << 4
        bits = (bits >> 2) & 0x3333_3333_3333_3333 | (bits & 0x3333_3333_3333_3333) << 2
        return (bits >> 1) & 0x5555_5555_5555_5555 | (bits & 0x5555_5555_5555_5555) << 1
    }
}

/// A compact, lossless encoding of a series of integers as differences, which are small if neighbours are similar.
///
/// ```swift
/// let ticks = IntegerSeries([1_700_000_000_000, 1_700_000_000_100, 1_700_000_000_200], differences: .second)
/// ticks.codes  // [3400000000000, 3399999999799, 0]
/// ```
///
/// Any list of codes from a peer decodes to a series: one number for each code. JavaScript represents integers exactly only up to 2⁵³.
public struct IntegerSeries: Hashable, Sendable, Codable {
    /// Which differences are stored.
    public enum Differences: Int, Hashable, Sendable, Codable, CaseIterable {
        /// The difference from the previous number: for counters and levels.
        case first = 1
        /// The change of that difference: for timestamps at regular intervals.
        case second = 2
    }
    /// Which differences the codes are.
    public let differences: Differences
    /// The differences as unsigned numbers: 0, -1, 1, -2 become 0, 1, 2, 3.
    public let codes: [UInt64]

    private enum CodingKeys: String, CodingKey {
        case differences = "d"
        case codes = "c"
    }

    /// Encodes these numbers.
    public init(_ numbers: [Int64], differences: Differences = .first) {
        self.differences = differences
        var rest = ZigZag.differences(numbers)
        if differences == .second { rest = ZigZag.differences(rest) }
        codes = rest.map(ZigZag.encode)
    }

    /// The decoded numbers.
    public var numbers: [Int64] {
        let sums = ZigZag.sums(codes.map(ZigZag.decode))
        return differences == .second ? ZigZag.sums(sums) : sums
    }
}

/// Maps signed numbers to unsigned ones that are small for numbers near zero: 0, -1, 1, -2 become 0, 1, 2, 3.
enum ZigZag {
    static func encode(_ number: Int64) -> UInt64 { UInt64(bitPattern: (number << 1) ^ (number >> 63)) }

    static func decode(_ code: UInt64) -> Int64 { Int64(bitPattern: code >> 1) ^ -Int64(bitPattern: code & 1) }

    /// Returns the difference of each number from the previous one.
    ///
    /// Overflow wraps, and `sums` reverses it.
    static func differences(_ numbers: [Int64]) -> [Int64] {
        var previous: Int64 = 0
        return numbers.map { number in
            defer { previous = number }
            return number &- previous
        }
    }

    /// Returns the numbers with these differences.
    static func sums(_ differences: [Int64]) -> [Int64] {
        var sum: Int64 = 0
        return differences.map { difference in
            sum &+= difference
            return sum
        }
    }
}
