import MachineCore

/// One line of a message head: `name: value` (RFC 9110 §5).
///
/// Names are compared without regard to ASCII case, values exactly.
public struct HeaderField: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
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

    /// The line, for logs: the value is `<hidden>` unless the field is known to tell no secret, such as `Server`.
    ///
    /// Of subprotocols those are shown that are well known, of a `Location` all but the query, of a challenge its scheme.
    public var description: String { "\(name): \(shownValue)" }

    /// The description alone: a dump tells no secret either.
    public var customMirror: Mirror { Mirror(self, children: ["field": description]) }

    /// The value, as ``description`` has it.
    package var shownValue: String {
        let name = HeaderSyntax.lowercased(name)
        guard name == "sec-websocket-protocol" else { return Secrecy.value(value, of: name) }
        return HeaderSyntax.list(value).map(Secrecy.subprotocol).joined(separator: ", ")
    }
}
