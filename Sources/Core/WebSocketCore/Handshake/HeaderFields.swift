/// The header fields of a message, in order, repeats kept.
///
/// Names are compared without regard to ASCII case. Nothing is refused when a field
/// is added; `encoded()` of a head throws ``HandshakeFailure/Kind/invalidHeader`` for
/// names and values that would break out of their line.
public struct HeaderFields: Hashable, Sendable, ExpressibleByDictionaryLiteral, RandomAccessCollection, CustomStringConvertible,
    CustomReflectable
{
    private var fields: [HeaderField] = []

    /// Makes an empty list.
    public init() {}

    /// Makes a list in the order written; a name may be repeated.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { HeaderField(name: $0, value: $1) }
    }

    /// The index of the first field.
    public var startIndex: Int { fields.startIndex }
    /// One past the index of the last field.
    public var endIndex: Int { fields.endIndex }
    /// The field at an index.
    public subscript(position: Int) -> HeaderField { fields[position] }

    /// The value of the first field with this name; setting it replaces all of that name, `nil` removes them.
    public subscript(name: String) -> String? {
        get { fields.first { HeaderSyntax.isEqual($0.name, name) }?.value }
        set {
            let place = fields.firstIndex { HeaderSyntax.isEqual($0.name, name) } ?? fields.endIndex
            fields.removeAll { HeaderSyntax.isEqual($0.name, name) }
            if let newValue { fields.insert(HeaderField(name: name, value: newValue), at: place) }
        }
    }

    /// The values of all fields with this name, one per line.
    public func values(_ name: String) -> [String] {
        var values: [String] = []
        for field in fields where HeaderSyntax.isEqual(field.name, name) { values.append(field.value) }
        return values
    }

    /// The elements of a comma-separated list, over all lines with this name (RFC 9110 §5.6.1).
    ///
    /// Elements are trimmed and empty ones left out. Quoted strings are not understood.
    public func tokens(_ name: String) -> [String] {
        values(name).flatMap(HeaderSyntax.list)
    }

    /// Whether the list under this name has the element, without regard to ASCII case.
    public func contains(_ token: String, in name: String) -> Bool {
        // Most lists have one element, written without blanks.
        fields.contains { HeaderSyntax.isEqual($0.name, name) && HeaderSyntax.isEqual($0.value, token) }
            || tokens(name).contains { HeaderSyntax.isEqual($0, token) }
    }

    /// Appends a field, whether or not the name is there already.
    public mutating func add(_ name: String, _ value: String) { add(HeaderField(name: name, value: value)) }

    /// Appends a field, whether or not the name is there already.
    public mutating func add(_ field: HeaderField) { fields.append(field) }

    /// One field per line, for logs; see ``HeaderField/description`` for what is left out.
    public var description: String { fields.map(\.description).joined(separator: "\n") }

    /// The fields as they describe themselves.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: fields.map(\.description), displayStyle: .collection) }

    /// Throws if a field, once written, could be read as something else (header injection).
    func check() throws(HandshakeFailure) {
        for field in fields {
            guard HeaderSyntax.isToken(field.name) else {
                throw HandshakeFailure(.invalidHeader, "\(quoted(field.name)) is not a header name")
            }
            guard HeaderSyntax.isFieldValue(field.value) else {
                throw HandshakeFailure(.invalidHeader, "the value of \(field.name) has a control character, such as a line break")
            }
        }
    }

    /// Throws if a field is set that the handshake sets itself, or that announces a body.
    func refuseReserved() throws(HandshakeFailure) {
        for field in fields {
            let name = HeaderSyntax.lowercased(field.name)
            if Self.reserved.contains(name) || name.hasPrefix("sec-websocket-") {
                throw HandshakeFailure(.invalidHeader, "\(field.name) is set by the handshake itself")
            }
        }
    }

    private static let reserved: Set = ["upgrade", "connection", "content-length", "transfer-encoding"]

    /// Only the fields whose names, in lower case, are among these.
    package func keeping(_ names: Set<String>) -> HeaderFields {
        var kept = self
        kept.fields.removeAll { !names.contains(HeaderSyntax.lowercased($0.name)) }
        return kept
    }

    /// Makes room for that many more fields.
    mutating func reserveCapacity(_ count: Int) { fields.reserveCapacity(count) }

    func write(to bytes: inout [UInt8]) {
        for field in fields {
            bytes += field.name.utf8
            bytes += ": ".utf8
            bytes += field.value.utf8
            bytes += "\r\n".utf8
        }
        bytes += "\r\n".utf8
    }
}
