/// Finds the size of the largest message that is taken, with few questions: servers like round numbers.
struct LimitSearch: Hashable, Sendable {
    /// The first size that is tried.
    static let first = 1024

    let cap: Int
    /// The largest size that was taken; 0: none.
    private(set) var taken = 0
    /// The smallest size that was refused.
    private(set) var refused: Int?

    init(cap: Int) { self.cap = cap }

    /// The size to try next; nil: it is found, or all up to the cap were taken.
    var next: Int? {
        guard let refused else {
            if taken == cap { return nil }
            return taken == 0 ? min(Self.first, cap) : min(taken * 4, cap)
        }
        guard refused - taken > 1 else { return nil }
        // Is the limit the round number that was just taken?
        if Self.isRound(taken) { return taken + 1 }
        let middle = taken + (refused - taken) / 2
        let rounds = Self.rounds.filter { taken < $0 && $0 < refused }
        return rounds.min { abs($0 - middle) < abs($1 - middle) } ?? middle
    }

    mutating func took(_ size: Int) { taken = max(taken, size) }
    mutating func refused(_ size: Int) { refused = min(refused ?? .max, size) }

    private static let rounds = (0..<40).map { 1 << $0 } + [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]

    private static func isRound(_ size: Int) -> Bool { rounds.contains(size) }
}
