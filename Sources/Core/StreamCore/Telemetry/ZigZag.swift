/// Signed numbers as unsigned ones that are small whenever the number is near zero: 0, -1, 1, -2 become 0, 1, 2, 3.
enum ZigZag {
    static func encode(_ number: Int64) -> UInt64 { UInt64(bitPattern: (number << 1) ^ (number >> 63)) }

    static func decode(_ code: UInt64) -> Int64 { Int64(bitPattern: code >> 1) ^ -Int64(bitPattern: code & 1) }

    /// Each number as its difference from the one before; what overflows wraps, and comes back the same way.
    static func differences(_ numbers: [Int64]) -> [Int64] {
        var previous: Int64 = 0
        return numbers.map { number in
            defer { previous = number }
            return number &- previous
        }
    }

    /// The numbers that have these differences.
    static func sums(_ differences: [Int64]) -> [Int64] {
        var sum: Int64 = 0
        return differences.map { difference in
            sum &+= difference
            return sum
        }
    }
}
