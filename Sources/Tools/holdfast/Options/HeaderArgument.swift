import ArgumentParser
import Holdfast

/// A header field as it is given on the command line: `Name: value`.
struct HeaderArgument: Hashable, Sendable, ExpressibleByArgument {
    let field: HeaderField

    /// Reads a field; nil when the name is no token (RFC 9110 §5.6.2) or the value has control characters.
    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":") else { return nil }
        let name = argument[..<colon]
        let value = argument[argument.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        guard !name.isEmpty, name.unicodeScalars.allSatisfy(Self.isTokenPart) else { return nil }
        guard !value.unicodeScalars.contains(where: { $0.value == 0x7F || ($0.value < 0x20 && $0 != "\t") }) else { return nil }
        field = HeaderField(name: String(name), value: String(value))
    }

    static func isTokenPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "0"..."9", "A"..."Z", "a"..."z": true
        default: "!#$%&'*+-.^_`|~".unicodeScalars.contains(scalar)
        }
    }
}
