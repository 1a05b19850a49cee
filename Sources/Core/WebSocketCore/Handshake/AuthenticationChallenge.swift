import MachineCore

/// An authentication challenge of a server, from a `WWW-Authenticate` field (RFC 9110 §11.6.1).
public struct AuthenticationChallenge: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The scheme in lower case, such as `basic` or `bearer`.
    public let scheme: String
    /// The parameters by name in lower case, such as `realm`, `scope` and `error`.
    ///
    /// If a name is repeated, the first value counts.
    public let parameters: [String: String]

    /// The protected area, in the server's own words.
    public var realm: String? { parameters["realm"] }

    /// The error code for the rejected credentials, such as `invalid_token` (RFC 6750 §3.1).
    public var error: String? { parameters["error"] }

    /// The scheme and the names of the parameters, without their values, which may repeat a credential.
    public var description: String { parameters.isEmpty ? scheme : "\(scheme) (\(parameters.keys.sorted().joined(separator: ", ")))" }

    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["challenge": description]) }

    /// Returns the challenges of a response, in order.
    ///
    /// Reading of a field stops at the first part that is invalid.
    public static func all(in headers: HeaderFields) -> [AuthenticationChallenge] {
        headers.values("WWW-Authenticate").flatMap { field in
            var reader = ChallengeReader(field)
            return reader.challenges()
        }
    }
}

/// Reads one field.
///
/// Commas separate both challenges and their parameters.
private struct ChallengeReader {
    private var rest: ArraySlice<UInt8>

    init(_ field: String) { rest = Array(field.utf8)[...] }

    mutating func challenges() -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        skipSeparators()
        while let scheme = token() {
            skipBlanks()
            var parameters: [String: String] = [:]
            if !takeToken68() {
                while let (name, value) = parameter() {
                    if parameters[name] == nil { parameters[name] = value }
                    skipSeparators()
                }
            }
            challenges.append(AuthenticationChallenge(scheme: scheme, parameters: parameters))
            skipSeparators()
        }
        return challenges
    }

    /// Reads a name, `=`, and a token or a quoted string.
    ///
    /// Reads nothing if another challenge begins here.
    private mutating func parameter() -> (name: String, value: String)? {
        let start = rest
        if let name = token() {
            skipBlanks()
            if take(UInt8(ascii: "=")) {
                skipBlanks()
                if let value = quotedString() ?? token(lowercased: false) { return (name, value) }
            }
        }
        rest = start
        return nil
    }

    private mutating func token(lowercased: Bool = true) -> String? {
        let bytes = rest.prefix(while: HeaderSyntax.isTokenByte)
        guard !bytes.isEmpty else { return nil }
        rest = rest[bytes.endIndex...]
        let text = String(decoding: bytes, as: UTF8.self)
        return lowercased ? HeaderSyntax.lowercased(text) : text
    }

    /// Skips a single value without a name, as `Negotiate` uses it.
    private mutating func takeToken68() -> Bool {
        let bytes = rest.prefix { HeaderSyntax.isTokenByte($0) || $0 == UInt8(ascii: "/") }
        let after = rest[bytes.endIndex...].drop { $0 == UInt8(ascii: "=") }
        guard !bytes.isEmpty, after.drop(while: HeaderSyntax.isBlank).first.map({ $0 == UInt8(ascii: ",") }) ?? true else { return false }
        rest = after
        return true
    }

    private mutating func quotedString() -> String? {
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        var (left, bytes) = (rest.dropFirst(), [UInt8]())
        while let byte = left.popFirst() {
            if byte == UInt8(ascii: "\"") {
                rest = left
                return String(decoding: bytes, as: UTF8.self)
            }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard let escaped = left.popFirst() else { return nil }
            bytes.append(escaped)
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skipBlanks() { rest = rest.drop(while: HeaderSyntax.isBlank) }

    private mutating func skipSeparators() { rest = rest.drop { HeaderSyntax.isBlank($0) || $0 == UInt8(ascii: ",") } }
}

/// The place of a credential in a connection request.
public enum CredentialPlacement: Hashable, Sendable {
    /// `Authorization: Bearer SECRET` (RFC 6750 §2.1).
    case bearer
    /// `Authorization: Basic …` (RFC 7617 §2): the credential is a name, a colon and a password, unencoded.
    case basic
    /// A header field of this name that contains only the credential, such as `X-Api-Key`.
    case header(String)
    /// An item of the URL's query, percent-encoded. Servers often log the query, so prefer a header if possible.
    case query(String)
    /// A cookie of this name, in addition to existing cookies (RFC 6265 §4.2).
    case cookie(String)
    /// An additional subprotocol, offered first: this prefix and the credential. Used by servers that were made for browsers.
    case subprotocol(prefix: String)

    /// Puts a credential into a request.
    ///
    /// - Throws: ``HandshakeFailure/Kind/invalidHeader`` or ``HandshakeFailure/Kind/invalidSubprotocol`` if the credential contains
    ///   characters that its place does not allow. The error does not contain the credential.
    public func place(
        _ secret: String, url: inout String, headers: inout HeaderFields, subprotocols: inout [String]
    ) throws(HandshakeFailure) {
        switch self {
        case .bearer: headers["Authorization"] = "Bearer \(try visible(secret))"
        case .basic:
            guard secret.utf8.contains(UInt8(ascii: ":")), secret.utf8.allSatisfy({ $0 >= HeaderSyntax.space && $0 != 0x7F }) else {
                throw .unfit(.invalidHeader, "a name and a password with a colon between them")
            }
            headers["Authorization"] = "Basic \(Base64.text(Array(secret.utf8)))"
        case .header(let name): headers[name] = try visible(secret)
        case .query(let name):
            url += "\(url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")\(Self.encoded(name))=\(Self.encoded(secret))"
        case .cookie(let name):
            // RFC 6265 §4.1.1: a cookie's value has neither quotes nor separators.
            guard !secret.utf8.contains(where: { #"",;\"#.utf8.contains($0) }) else { throw .unfit(.invalidHeader, "a cookie") }
            let cookie = "\(name)=\(try visible(secret))"
            headers["Cookie"] = headers["Cookie"].map { "\($0); \(cookie)" } ?? cookie
        case .subprotocol(let prefix):
            guard HeaderSyntax.isToken(prefix + secret) else { throw .unfit(.invalidSubprotocol, "a subprotocol") }
            subprotocols.insert(prefix + secret, at: 0)
        }
    }

    private func visible(_ secret: String) throws(HandshakeFailure) -> String {
        guard HeaderSyntax.isVisible(secret) else { throw .unfit(.invalidHeader, "a header field") }
        return secret
    }

    private static func encoded(_ text: String) -> String {
        String(decoding: PercentEncoding.encode(text.utf8, except: PercentEncoding.isUnreserved), as: UTF8.self)
    }
}

extension HandshakeFailure {
    fileprivate static func unfit(_ kind: Kind, _ place: String) -> HandshakeFailure {
        HandshakeFailure(kind, "the credential has characters that are not allowed in \(place)")
    }
}
