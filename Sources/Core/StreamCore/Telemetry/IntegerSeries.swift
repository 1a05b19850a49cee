/// A series of integers as its differences: small numbers where neighbours are alike, which every codec writes in few bytes.
///
/// ```swift
/// let ticks = IntegerSeries([1_700_000_000_000, 1_700_000_000_100, 1_700_000_000_200], differences: .second)
/// ticks.codes  // [3400000000000, 3399999999799, 0]
/// ```
/// Every series comes back exactly, and whatever codes a peer sends stand for some series: one number for each code. Where
/// JavaScript reads them, mind that it knows integers only up to 2⁵³.
public struct IntegerSeries: Hashable, Sendable, Codable {
    /// What is written in place of the numbers.
    public enum Differences: Int, Hashable, Sendable, Codable, CaseIterable {
        /// How much each differs from the one before: for counters and levels.
        case first = 1
        /// How much that changes: for timestamps at even distances.
        case second = 2
    }
    /// Which differences the codes are.
    public let differences: Differences
    /// The differences as unsigned numbers: 0, -1, 1, -2 are 0, 1, 2, 3.
    public let codes: [UInt64]

    private enum CodingKeys: String, CodingKey {
        case differences = "d"
        case codes = "c"
    }

    /// The series of these numbers.
    public init(_ numbers: [Int64], differences: Differences = .first) {
        self.differences = differences
        var rest = ZigZag.differences(numbers)
        if differences == .second { rest = ZigZag.differences(rest) }
        codes = rest.map(ZigZag.encode)
    }

    /// The numbers.
    public var numbers: [Int64] {
        let sums = ZigZag.sums(codes.map(ZigZag.decode))
        return differences == .second ? ZigZag.sums(sums) : sums
    }
}
