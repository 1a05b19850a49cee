public import WebSocketCore

/// How a secure connection is checked, and how this side shows who it is.
///
/// What is asked for here is done or the connection fails with ``TransportError/Code/invalidConfiguration``; nothing is left out quietly.
public struct TLSOptions: Sendable {
    /// Which authorities may vouch for the server.
    public enum Trust: Hashable, Sendable {
        /// Those that the system trusts.
        case system
        /// Those in a PEM file, and no others; a server's self-signed certificate is trusted by naming it here.
        case file(String)
        /// Those in these PEM bytes, and no others.
        case pem([UInt8])
    }

    /// A version of TLS.
    public enum Version: Hashable, Sendable, Comparable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
    }

    /// Which authorities may vouch for the server; by default the system's.
    public var trust: Trust
    /// Authorities that may do so too, in PEM; a server's self-signed certificate among them is trusted for itself.
    public var additionalRoots: [PEMSource] = []
    /// The keys and certificates that chains of some hosts are expected to have; the sets that cover no host of a connection do nothing.
    public var pins: [PinSet] = []
    /// Told of each pin set that did not hold, or whose day has come; called on the event loop, so it must not block.
    public var onPinReport: (@Sendable (PinReport) -> Void)?
    /// What this side shows if the server wants to know who it is; nil: nothing.
    public var identity: ClientIdentity?
    /// The oldest version spoken; by default TLS 1.2.
    public var minimumVersion = Version.tls12
    /// What is offered by ALPN (RFC 7301), 1 to 255 ASCII characters each; none: the extension is left out.
    public var applicationProtocols = ["http/1.1"]
    /// The name that the server is asked for (SNI), and that its certificate must be for; nil: the URL's host.
    ///
    /// For a server that is reached by an address, or by a name that its certificate does not have.
    public var serverName: String?
    /// Takes any certificate for any host.
    ///
    /// For development only: anyone on the way can read and change everything.
    public var isInsecure: Bool

    /// Makes options; by default the system's authorities and every check.
    public init(trust: Trust = .system, isInsecure: Bool = false) {
        (self.trust, self.isInsecure) = (trust, isInsecure)
    }

    /// Leaves behind what was meant for the server that sends us elsewhere: who we are, and what it is called.
    package mutating func leaveOrigin(staysOnHost: Bool) {
        identity = nil
        if !staysOnHost { serverName = nil }
    }

    /// What differs from the defaults.
    package var features: Set<TLSFeature> {
        let asked: [TLSFeature: Bool] = [
            .trust: trust != .system, .additionalRoots: !additionalRoots.isEmpty, .pins: !pins.isEmpty, .identity: identity != nil,
            .minimumVersion: minimumVersion != .tls12, .applicationProtocols: applicationProtocols != ["http/1.1"],
            .serverName: serverName != nil, .isInsecure: isInsecure,
        ]
        return Set(asked.filter(\.value).keys)
    }

    /// Throws `invalidConfiguration` if the options contradict each other, or ask for more than `path` can do.
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

    /// Throws `invalidConfiguration` if pins are enforced for a host that is to be reached without TLS.
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
                return "serverName is no host name; SNI carries names only, no addresses or URLs"
            }
        }
        return nil
    }
}

/// A server that waits for our judgement during a TLS handshake of the system's.
package struct ServerTrust: Sendable {
    /// Why the system does not trust a server.
    package struct Fault: Error, Hashable, Sendable {
        /// A number of Security.framework (SecBase.h).
        package let code: Int
        /// What the system says of it, for people.
        package let words: String

        package init(code: Int, words: String) { (self.code, self.words) = (code, words) }
    }

    /// The certificates of the verified chain in DER, the server's own first; as sent, if the system does not trust them.
    package let chain: [[UInt8]]
    /// Why the system does not trust it, by its authorities and ours and for this host; nil: it does.
    package let fault: Fault?

    package init(chain: [[UInt8]], fault: Fault? = nil) { (self.chain, self.fault) = (chain, fault) }
}

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

/// Something of ``TLSOptions`` that not every way to a server can do.
package enum TLSFeature: String, Hashable, Sendable, CaseIterable {
    case trust, additionalRoots, pins, identity, minimumVersion, applicationProtocols, serverName, isInsecure
}
