extension Duration {
    /// In milliseconds, to a hundredth: as reports have it.
    var ms: Double { (milliseconds * 100).rounded() / 100 }
}

extension Double {
    /// So many milliseconds as people read them: `0.42 ms`, `1.25 s`.
    var msPhrase: String { Duration.nanoseconds(Int64((self * 1e6).rounded())).phrase }
}
