import MachineCore

/// The SHA-256 digest of a public key, or of a whole certificate, that a server's chain is expected to have.
///
/// Written as `sha256/` and base64 for a key, as OkHttp and RFC 7469 have it, and as `cert-sha256/` for a certificate. A key's pin
/// outlives the renewal of its certificate, so it is the one to prefer. `holdfast pin URL` prints those of a server.
public struct Pin: Hashable, Sendable, CustomStringConvertible {
    /// What the digest is of.
    public enum Kind: Hashable, Sendable {
        /// The public key with its algorithm: SubjectPublicKeyInfo in DER.
        case publicKey
        /// The whole certificate in DER.
        case certificate
    }

    /// A text is not a pin.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong with it, and how a pin is written.
        public let description: String
    }

    /// What the digest is of.
    public let kind: Kind
    /// 32 bytes.
    public let digest: [UInt8]

    /// Reads `sha256/…` or `cert-sha256/…`.
    public init(_ text: String) throws(Malformed) {
        guard let kind: Kind = text.hasPrefix(Self.keyPrefix) ? .publicKey : text.hasPrefix(Self.certificatePrefix) ? .certificate : nil,
            let digest = Base64.bytes(of: text.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst()), digest.count == 32
        else {
            throw Malformed(
                description: "\(quoted(text)) is not a pin; write sha256/ or cert-sha256/ and 44 characters of base64, as holdfast pin does"
            )
        }
        (self.kind, self.digest) = (kind, digest)
    }

    /// The pin of a public key, given as SubjectPublicKeyInfo in DER.
    public init(publicKeyInfo: [UInt8]) { (kind, digest) = (.publicKey, SHA256.digest(publicKeyInfo)) }

    /// The pin of a whole certificate, given in DER.
    public init(certificate der: [UInt8]) { (kind, digest) = (.certificate, SHA256.digest(der)) }

    /// As it is read.
    public var description: String { (kind == .publicKey ? Self.keyPrefix : Self.certificatePrefix) + Base64.text(digest) }

    /// Whether this certificate has it.
    public func matches(_ certificate: ServerCertificate) -> Bool {
        self == (kind == .publicKey ? certificate.publicKeyPin : certificate.certificatePin)
    }

    private static let (keyPrefix, certificatePrefix) = ("sha256/", "cert-sha256/")
}
