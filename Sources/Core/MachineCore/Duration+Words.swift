extension Duration {
    /// The duration for people, in two or three digits: `850 µs`, `12 ms`, `1.3 s`, `42 s`, `3 min`, `5 h`.
    package var words: String {
        if self < .zero { return "-" + (.zero - self).words }
        let microseconds = self / .microseconds(1)
        return switch microseconds {
        case ..<999.5: "\(Int(microseconds.rounded())) µs"
        case ..<999_500: "\(Int((microseconds / 1000).rounded())) ms"
        case ..<9_950_000: "\(Self.tenths(microseconds / 1_000_000)) s"
        case ..<119_500_000: "\(Int((microseconds / 1_000_000).rounded())) s"
        case ..<7_170_000_000: "\(Int((microseconds / 60_000_000).rounded())) min"
        default: "\(Int(clamping: Int64((min(microseconds / 3_600_000_000, 1e15)).rounded()))) h"
        }
    }

    /// With one digit after the point, unless that is zero.
    private static func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
