/// Reads a number with its unit, in lower case.
enum FaultQuantity {
    /// A time, exact to the nanosecond; nil for anything else, and for more than ``FaultLimits/longest``.
    static func time(_ text: Substring) -> Duration? {
        guard let (value, unit) = split(text), let duration = FaultWords.times.first(where: { $0.name == unit })?.duration else {
            return nil
        }
        let nanoseconds = (value * Double(duration / .nanoseconds(1))).rounded()
        guard nanoseconds <= FaultLimits.longest / .nanoseconds(1) else { return nil }
        return .nanoseconds(Int64(nanoseconds))
    }

    /// A number of bytes; nil for anything else, and for what is not in `range`.
    static func bytes(_ text: Substring, within range: ClosedRange<Int>) -> Int? {
        guard let (value, unit) = split(text), let factor = FaultWords.sizes.first(where: { $0.name.lowercased() == unit })?.bytes
        else { return nil }
        let bytes = (value * Double(factor)).rounded()
        guard bytes <= Double(range.upperBound), range.contains(Int(bytes)) else { return nil }
        return Int(bytes)
    }

    /// Digits, with a point among them perhaps, and what follows.
    private static func split(_ text: Substring) -> (value: Double, unit: Substring)? {
        let number = text.prefix { $0 == "." || ("0"..."9").contains($0) }
        guard number.count <= 20, number.first != ".", number.last != ".", let value = Double(number) else { return nil }
        return (value, text[number.endIndex...])
    }
}
