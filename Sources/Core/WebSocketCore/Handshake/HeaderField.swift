/// One line of a message head: `name: value` (RFC 9110 §5).
///
/// Names are compared without regard to ASCII case, values exactly.
public struct HeaderField: Hashable, Sendable, CustomStringConvertible {
    /// As written, such as `Sec-WebSocket-Key`.
    public var name: String
    /// Without the white space around it.
    public var value: String

    /// Makes a field; nothing is checked until a head that holds it is encoded.
    public init(name: String, value: String) { (self.name, self.value) = (name, value) }

    /// Compares names without regard to ASCII case.
    public static func == (one: HeaderField, other: HeaderField) -> Bool {
        one.value == other.value && HeaderSyntax.isEqual(one.name, other.name)
    }

    /// Hashes the name in lower case.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(HeaderSyntax.lowercased(name))
        hasher.combine(value)
    }

    /// The line, for logs: values of fields that hold credentials are left out.
    public var description: String { "\(name): \(Self.secrets.contains(HeaderSyntax.lowercased(name)) ? "<hidden>" : value)" }

    private static let secrets: Set = ["authorization", "cookie", "proxy-authorization", "set-cookie"]
}
