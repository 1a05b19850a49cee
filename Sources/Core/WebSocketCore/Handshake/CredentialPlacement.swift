import MachineCore

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
