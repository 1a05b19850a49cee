import MachineCore

/// The header fields of a message, in order, including repeated ones.
///
/// Names are compared without regard to ASCII case. Adding a field checks nothing. `encoded()` of a head throws
/// ``HandshakeFailure/Kind/invalidHeader`` for names and values that contain forbidden characters, such as line breaks.
public struct HeaderFields: Hashable, Sendable, ExpressibleByDictionaryLiteral, RandomAccessCollection, CustomStringConvertible,
    CustomReflectable
{
    private var fields: [HeaderField] = []

    /// Creates an empty list.
    public init() {}

    /// Creates a list in the given order.
    ///
    /// Names may be repeated.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { HeaderField(name: $0, value: $1) }
    }

    /// The index of the first field.
    public var startIndex: Int { fields.startIndex }
    /// One past the index of the last field.
    public var endIndex: Int { fields.endIndex }
    /// The field at an index.
    public subscript(position: Int) -> HeaderField { fields[position] }

    /// The value of the first field with this name.
    ///
    /// Setting it replaces all fields of that name; nil removes them.
    public subscript(name: String) -> String? {
        get { fields.first { HeaderSyntax.isEqual($0.name, name) }?.value }
        set {
            let place = fields.firstIndex { HeaderSyntax.isEqual($0.name, name) } ?? fields.endIndex
            fields.removeAll { HeaderSyntax.isEqual($0.name, name) }
            if let newValue { fields.insert(HeaderField(name: name, value: newValue), at: place) }
        }
    }

    /// Returns the values of all fields with this name, one per line.
    public func values(_ name: String) -> [String] {
        var values: [String] = []
        for field in fields where HeaderSyntax.isEqual(field.name, name) { values.append(field.value) }
        return values
    }

    /// Returns the elements of a comma-separated list, from all lines with this name (RFC 9110 §5.6.1).
    ///
    /// Elements are trimmed and empty ones are omitted. Quoted strings are not supported.
    public func tokens(_ name: String) -> [String] {
        values(name).flatMap(HeaderSyntax.list)
    }

    /// Returns whether the list under this name contains the element, without regard to ASCII case.
    public func contains(_ token: String, in name: String) -> Bool {
        // Fast path: most lists have one element, written without blanks.
        fields.contains { HeaderSyntax.isEqual($0.name, name) && HeaderSyntax.isEqual($0.value, token) }
            || tokens(name).contains { HeaderSyntax.isEqual($0, token) }
    }

    /// Appends a field, even if the name already exists.
    public mutating func add(_ name: String, _ value: String) { add(HeaderField(name: name, value: value)) }

    /// Appends a field, even if the name already exists.
    public mutating func add(_ field: HeaderField) { fields.append(field) }

    /// One field per line, for logs.
    ///
    /// ``HeaderField/description`` says what is hidden.
    public var description: String { fields.map(\.description).joined(separator: "\n") }

    /// A mirror that shows the descriptions of the fields.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: fields.map(\.description), displayStyle: .collection) }

    /// Throws if a field could be read as something else once it is written (header injection).
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

    /// Throws if a field is reserved for the handshake or announces a body.
    func refuseReserved() throws(HandshakeFailure) {
        for field in fields {
            let name = HeaderSyntax.lowercased(field.name)
            if Self.reserved.contains(name) || name.hasPrefix("sec-websocket-") {
                throw HandshakeFailure(.invalidHeader, "\(field.name) is set by the handshake itself")
            }
        }
    }

    private static let reserved: Set = ["upgrade", "connection", "content-length", "transfer-encoding"]

    /// Returns only the fields whose names, in lower case, are in the set.
    package func keeping(_ names: Set<String>) -> HeaderFields {
        var kept = self
        kept.fields.removeAll { !names.contains(HeaderSyntax.lowercased($0.name)) }
        return kept
    }

    /// Reserves capacity for this many fields.
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

    /// The fields that HTTP/2 allows, in its form (RFC 9113 §8.2): in lower case, without connection-specific fields.
    var forHTTP2: HeaderFields {
        let named = tokens("Connection").map { HeaderSyntax.lowercased($0) }
        var fields = HeaderFields()
        for field in self {
            let name = HeaderSyntax.lowercased(field.name)
            guard !Self.connectionFields.contains(name), !named.contains(name), name != "te" || field.value == "trailers" else { continue }
            fields.add(name, field.value)
        }
        return fields
    }

    private static let connectionFields: Set = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]

    fileprivate func pseudoField(_ name: String) throws(HandshakeFailure) -> String? {
        let values = values(name)
        guard values.count <= 1 else { throw HandshakeFailure(.malformedHead, "\(name) is repeated") }
        return values.first
    }
}

/// One line of a message head: `name: value` (RFC 9110 §5).
///
/// Names are compared without regard to ASCII case, values exactly.
public struct HeaderField: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The name as written, such as `Sec-WebSocket-Key`.
    public var name: String
    /// The value, without surrounding white space.
    public var value: String

    /// Creates a field.
    ///
    /// It is checked only when a head that contains it is encoded.
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

    /// The line, for logs.
    ///
    /// The value is `<hidden>` unless the field is known to be public, such as `Server`.
    ///
    /// Well-known subprotocols are shown, and a `Location` without its query, and the scheme of a challenge.
    public var description: String { "\(name): \(shownValue)" }

    /// A mirror that shows only the description, so that a dump reveals no secret.
    public var customMirror: Mirror { Mirror(self, children: ["field": description]) }

    /// The value, as shown in ``description``.
    package var shownValue: String {
        let name = HeaderSyntax.lowercased(name)
        guard name == "sec-websocket-protocol" else { return Secrecy.value(value, of: name) }
        return HeaderSyntax.list(value).map(Secrecy.subprotocol).joined(separator: ", ")
    }
}

extension RequestHead {
    /// Reads the fields of a HEADERS frame that begins a request (RFC 9113 §8.3.1, RFC 8441 §4).
    ///
    /// Throws ``HandshakeFailure/Kind/malformedHead`` if a required field is missing or repeated.
    public init(http2 fields: HeaderFields) throws(HandshakeFailure) {
        let method = try fields.pseudoField(":method")
        let (authority, path) = (try fields.pseudoField(":authority"), try fields.pseudoField(":path"))
        guard let method, HeaderSyntax.isToken(method) else { throw HandshakeFailure(.malformedHead, "there is no :method") }
        guard let target = path ?? authority, HeaderSyntax.isVisible(target) else {
            throw HandshakeFailure(.malformedHead, "there is no valid :path")
        }
        self.init(method: method, target: target, minorVersion: 0)
        majorVersion = 2
        tunnelProtocol = try fields.pseudoField(":protocol")
        for field in fields where !field.name.hasPrefix(":") { headers.add(field) }
        if let authority { headers["Host"] = authority }
    }
}

extension ResponseHead {
    /// Reads the fields of a HEADERS frame that begins a response (RFC 9113 §8.3.2).
    ///
    /// Throws ``HandshakeFailure/Kind/malformedHead`` if there is no valid status.
    public init(http2 fields: HeaderFields) throws(HandshakeFailure) {
        guard let text = try fields.pseudoField(":status"), text.utf8.count == 3, HeaderSyntax.isDecimal(text), let status = Int(text),
            status >= 100
        else {
            throw HandshakeFailure(.malformedHead, "there is no valid :status")
        }
        self.init(status: status, minorVersion: 0)
        majorVersion = 2
        for field in fields where !field.name.hasPrefix(":") { headers.add(field) }
    }

    /// Returns the response as the fields of a HEADERS frame, without fields that HTTP/2 forbids.
    ///
    /// Throws ``HandshakeFailure/Kind/invalidHeader`` if a part contains forbidden characters.
    public func http2Fields() throws(HandshakeFailure) -> HeaderFields {
        guard 100...999 ~= status, status != 101 else { throw HandshakeFailure(.invalidHeader, "HTTP/2 has no status \(status)") }
        let rest = headers.forHTTP2
        try rest.check()
        // 426 asks for an upgrade, which HTTP/2 does not support.
        var fields: HeaderFields = [":status": "\(status == 426 ? 400 : status)"]
        for field in rest { fields.add(field) }
        return fields
    }
}
