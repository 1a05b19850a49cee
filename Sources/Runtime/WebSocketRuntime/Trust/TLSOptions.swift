public import WebSocketCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The options of TLS: how the server is verified, and how this side authenticates.
///
/// If an option cannot be honoured, the connection fails with ``TransportError/Code/invalidConfiguration``; no option is ignored
/// silently.
public struct TLSOptions: Sendable {
    /// The certificate authorities that are trusted.
    public enum Trust: Hashable, Sendable {
        /// The authorities that the system trusts.
        case system
        /// Only the authorities in a PEM file; to trust a server's self-signed certificate, put it into the file.
        case file(String)
        /// Only the authorities in these PEM bytes.
        case pem([UInt8])
    }

    /// A version of TLS.
    public enum Version: Hashable, Sendable, Comparable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
    }

    /// The trusted certificate authorities; by default the system's.
    public var trust: Trust
    /// Additional trusted authorities in PEM; a server's self-signed certificate among them is trusted itself.
    public var additionalRoots: [PEMSource] = []
    /// The expected keys and certificates for the chains of some hosts; sets that cover no host of a connection have no effect.
    public var pins: [PinSet] = []
    /// Called for each pin set that did not match or has expired; called on the event loop, so it must not block.
    public var onPinReport: (@Sendable (PinReport) -> Void)?
    /// The client certificate for servers that ask for one; nil sends none.
    public var identity: ClientIdentity?
    /// The oldest TLS version to accept; by default TLS 1.2.
    public var minimumVersion = Version.tls12
    /// The protocols offered by ALPN (RFC 7301), 1 to 255 ASCII characters each; an empty list leaves the extension out.
    public var applicationProtocols = ["http/1.1"]
    /// The name that is sent to the server (SNI) and that its certificate must match; nil uses the URL's host.
    ///
    /// Use it for a server that is reached by an address, or by a name that is not in its certificate.
    public var serverName: String?
    /// Whether any certificate is accepted for any host.
    ///
    /// For development only: anyone on the network path can read and change everything.
    public var isInsecure: Bool

    /// Creates options; by default with the system's authorities and all checks.
    public init(trust: Trust = .system, isInsecure: Bool = false) {
        (self.trust, self.isInsecure) = (trust, isInsecure)
    }

    /// Removes the options that were meant for the original server before a redirect: the identity and the server name.
    package mutating func leaveOrigin(staysOnHost: Bool) {
        identity = nil
        if !staysOnHost { serverName = nil }
    }

    /// The options that differ from the defaults.
    package var features: Set<TLSFeature> {
        let asked: [TLSFeature: Bool] = [
            .trust: trust != .system, .additionalRoots: !additionalRoots.isEmpty, .pins: !pins.isEmpty, .identity: identity != nil,
            .minimumVersion: minimumVersion != .tls12, .applicationProtocols: applicationProtocols != ["http/1.1"],
            .serverName: serverName != nil, .isInsecure: isInsecure,
        ]
        return Set(asked.filter(\.value).keys)
    }

    /// Throws `invalidConfiguration` if the options contradict each other, or need more than `path` supports.
    package func check(
        for path: String, supporting supported: Set<TLSFeature> = Set(TLSFeature.allCases)
    ) throws(TransportError) {
        let missing = features.subtracting(supported).map(\.rawValue).sorted()
        guard missing.isEmpty else {
            throw TransportError(
                .invalidConfiguration, "\(path) cannot honour \(missing.map { "TLSOptions.\($0)" }.joined(separator: ", "))")
        }
        if let problem { throw TransportError(.invalidConfiguration, "TLSOptions cannot be honoured: \(problem)") }
    }

    /// Throws `invalidConfiguration` if pins are enforced for a host that is reached without TLS.
    package func checkPlain(host: String) throws(TransportError) {
        guard let set = pins.first(where: { $0.mode == .enforce && $0.covers(host) }) else { return }
        throw TransportError(
            .invalidConfiguration,
            "ws: has no certificates, so the pins for \(set.hosts.joined(separator: ", ")) cannot be honoured; use wss:")
    }

    private var problem: String? {
        for set in pins { if let problem = set.problem { return problem } }
        if isInsecure {
            let contradicted = features.intersection([.trust, .additionalRoots, .pins]).map(\.rawValue).sorted()
            if let one = contradicted.first { return "isInsecure checks nothing, so it contradicts \(one); leave out one of them" }
        }
        for name in applicationProtocols where !(1...255 ~= name.utf8.count && name.utf8.allSatisfy { $0 < 0x80 }) {
            return "an application protocol is not 1 to 255 ASCII characters"
        }
        if let serverName {
            let isName = serverName.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "*") }
            let isAddress = serverName.allSatisfy { $0.isNumber || $0 == "." }
            guard isName, !isAddress, 1...255 ~= serverName.utf8.count else {
                return "serverName is not a host name; SNI carries names only, not addresses or URLs"
            }
        }
        return nil
    }
}

/// A server that waits for our decision during a TLS handshake of the system.
package struct ServerTrust: Sendable {
    /// The reason why the system does not trust a server.
    package struct Fault: Error, Hashable, Sendable {
        /// The error number of Security.framework (SecBase.h).
        package let code: Int
        /// The system's error message.
        package let words: String

        package init(code: Int, words: String) { (self.code, self.words) = (code, words) }
    }

    /// The verified certificate chain in DER, the server's own first; the chain as sent, if the system does not trust it.
    package let chain: [[UInt8]]
    /// The reason why the system does not trust the server with its authorities and ours and for this host; nil if it does.
    package let fault: Fault?

    package init(chain: [[UInt8]], fault: Fault? = nil) { (self.chain, self.fault) = (chain, fault) }
}

/// A certificate with its private key, for client authentication (mutual TLS).
///
/// Descriptions and dumps show neither the key nor the passphrase.
public struct ClientIdentity: Sendable, CustomStringConvertible, CustomReflectable {
    /// The format of the identity.
    package enum Form: Hashable, Sendable {
        case pem(certificates: PEMSource, key: PEMSource)
        case pkcs12(PEMSource)
    }

    package let form: Form
    package let passphrase: String?

    /// Creates an identity from a certificate, followed by its intermediate certificates, and its key.
    public static func pem(certificates: PEMSource, privateKey: PEMSource, passphrase: String? = nil) -> ClientIdentity {
        ClientIdentity(form: .pem(certificates: certificates, key: privateKey), passphrase: passphrase)
    }

    /// Creates an identity from a PKCS#12 file (`.p12`, `.pfx`).
    public static func pkcs12(file: String, passphrase: String? = nil) -> ClientIdentity {
        ClientIdentity(form: .pkcs12(.file(file)), passphrase: passphrase)
    }

    /// Creates an identity from the bytes of a PKCS#12 file.
    public static func pkcs12(bytes: [UInt8], passphrase: String? = nil) -> ClientIdentity {
        ClientIdentity(form: .pkcs12(.bytes(bytes)), passphrase: passphrase)
    }

    /// The source of the identity.
    public var description: String {
        switch form {
        case .pem(let certificates, let key): "PEM, \(certificates.words) and \(key.words)"
        case .pkcs12(let source): "PKCS#12, \(source.words)"
        }
    }

    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["form": description]) }
}

/// A feature of ``TLSOptions`` that not every transport supports.
package enum TLSFeature: String, Hashable, Sendable, CaseIterable {
    case trust, additionalRoots, pins, identity, minimumVersion, applicationProtocols, serverName, isInsecure
}

/// The source of PEM data.
public enum PEMSource: Hashable, Sendable {
    /// A file, read for each connection.
    case file(String)
    /// The given bytes.
    case bytes([UInt8])

    /// The source for error texts: the file's name, never the bytes.
    package var words: String {
        switch self {
        case .file(let path): path
        case .bytes: "given as bytes"
        }
    }

    /// The actual format if the data is not PEM, and how to convert it; nil if the data cannot be read or the format is unknown.
    package var mistake: String? { contents.flatMap(PEM.mistake(in:)) }

    /// The contents; nil for a file that cannot be read.
    var contents: [UInt8]? {
        switch self {
        case .bytes(let bytes): return bytes
        case .file(let path):
            guard let file = fopen(path, "r") else { return nil }
            defer { fclose(file) }
            var (contents, piece) = ([UInt8](), [UInt8](repeating: 0, count: 16 * 1024))
            while true {
                let count = fread(&piece, 1, piece.count, file)
                guard count > 0 else { return ferror(file) == 0 ? contents : nil }
                contents += piece[..<count]
            }
        }
    }
}
