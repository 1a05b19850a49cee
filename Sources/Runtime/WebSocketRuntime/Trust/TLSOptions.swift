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
}
