/// Prices of the quotes protocol, which count ten-thousandths, as people read them.
enum Price {
    /// Two decimals, or four where there is more to tell: `189.50`, `0.7312`.
    static func text(_ price: Int64) -> String {
        let (whole, part) = price.magnitude.quotientAndRemainder(dividingBy: 10_000)
        let digits = part.isMultiple(of: 100) ? padded(part / 100, 2) : padded(part, 4)
        return "\(price < 0 ? "-" : "")\(whole).\(digits)"
    }

    /// How far `price` is from `base`, in percent with two decimals and a sign: `+0.31 %`; empty without a base.
    static func change(of price: Int64, from base: Int64) -> String {
        guard base > 0 else { return "" }
        // A peer may say that a price has grown by more than an integer holds.
        let hundredths = Int64(min(Double(price - base) / Double(base) * 10_000, 0x1p53).rounded())
        let (whole, part) = hundredths.magnitude.quotientAndRemainder(dividingBy: 100)
        return "\(hundredths < 0 ? "-" : "+")\(whole).\(padded(part, 2)) %"
    }

    private static func padded(_ number: UInt64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
