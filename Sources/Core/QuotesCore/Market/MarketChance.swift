internal import MachineCore

/// Chance in whole numbers only, so that no rounding of a machine can change a market.
struct MarketChance: Hashable, Sendable {
    private var numbers: SplitMix64

    init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    /// One of 0, 1, … `bound` - 1.
    mutating func below(_ bound: Int) -> Int {
        // The high half of the product: even enough for bounds far below 2^64.
        Int(numbers.next().multipliedFullWidth(by: UInt64(max(bound, 1))).high)
    }

    /// True once in so many times, on average.
    mutating func once(in times: Int) -> Bool { below(times) == 0 }

    /// About normally distributed around 0; the standard deviation is 1000, and nothing lies beyond 3464.
    mutating func swing() -> Int {
        let bits = numbers.next()
        let sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48)
        // Four even draws of 16 bits: the mean is 131070, the deviation 37837.
        return (Int(sum) - 131_070) * 1000 / 37_837
    }
}
