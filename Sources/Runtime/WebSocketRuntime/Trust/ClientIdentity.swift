/// A certificate with its private key, by which a client shows who it is (mutual TLS).
///
/// Descriptions and dumps show neither key nor passphrase.
public struct ClientIdentity: Sendable, CustomStringConvertible, CustomReflectable {
    /// How it is stored.
    package enum Form: Hashable, Sendable {
        case pem(certificates: PEMSource, key: PEMSource)
        case pkcs12(PEMSource)
    }

    package let form: Form
    package let passphrase: String?

    /// A certificate, followed by those of the authorities between it and a root, and its key.
    public static func pem(certificates: PEMSource, privateKey: PEMSource, passphrase: String? = nil) -> ClientIdentity {
        ClientIdentity(form: .pem(certificates: certificates, key: privateKey), passphrase: passphrase)
    }

    /// Both in a PKCS#12 file (`.p12`, `.pfx`).
    public static func pkcs12(file: String, passphrase: String? = nil) -> ClientIdentity {
        ClientIdentity(form: .pkcs12(.file(file)), passphrase: passphrase)
    }

    /// Both in the bytes of a PKCS#12 file.
    public static func pkcs12(bytes: [UInt8], passphrase: String? = nil) -> ClientIdentity {
        ClientIdentity(form: .pkcs12(.bytes(bytes)), passphrase: passphrase)
    }

    /// Where it comes from.
    public var description: String {
        switch form {
        case .pem(let certificates, let key): "PEM, \(certificates.words) and \(key.words)"
        case .pkcs12(let source): "PKCS#12, \(source.words)"
        }
    }

    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["form": description]) }
}
