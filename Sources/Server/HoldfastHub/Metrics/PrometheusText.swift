/// The kinds of metrics that Prometheus knows, with a histogram of times apart.
enum PrometheusKind: Hashable, Sendable {
    case counter, gauge, histogram, timer

    /// What follows `# TYPE`.
    var word: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram, .timer: "histogram"
        }
    }

    fileprivate var suffix: String {
        switch self {
        case .counter: "_total"
        case .timer: "_seconds"
        case .gauge, .histogram: ""
        }
    }
}

/// How names, labels and numbers are written in the text format 0.0.4.
enum PrometheusText {
    /// A name of letters, digits and underscores, with the ending that its kind asks for.
    static func name(_ label: String, _ kind: PrometheusKind) -> String {
        let name = sanitized(label)
        return name.hasSuffix(kind.suffix) ? name : name + kind.suffix
    }

    /// `{a="b",c="d"}`, ordered by name; empty without labels.
    static func labels(_ dimensions: [(String, String)]) -> String {
        if dimensions.isEmpty { return "" }
        let pairs = dimensions.map { "\(sanitized($0.0))=\"\(escaped($0.1))\"" }
        return "{" + pairs.sorted().joined(separator: ",") + "}"
    }

    /// Labels with one more.
    static func labels(_ labels: String, and name: String, _ value: String) -> String {
        labels.isEmpty ? "{\(name)=\"\(value)\"}" : labels.dropLast() + ",\(name)=\"\(value)\"}"
    }

    /// A whole number without a fraction, anything else as it is.
    static func number(_ value: Double) -> String {
        if value == .infinity { return "+Inf" }
        if value == -.infinity { return "-Inf" }
        if value.isNaN { return "NaN" }
        return Int64(exactly: value).map(String.init) ?? "\(value)"
    }

    private static func sanitized(_ text: String) -> String {
        let letters = text.unicodeScalars.map { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "_": String(scalar)
            default: "_"
            }
        }.joined()
        return letters.first.map { !$0.isNumber } ?? false ? letters : "_" + letters
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "\n": "\\n"
            default: String(scalar)
            }
        }.joined()
    }
}
