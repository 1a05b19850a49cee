/// How a secure connection is checked.
public struct TLSOptions: Hashable, Sendable {
    /// Which authorities may vouch for the server.
    public enum Trust: Hashable, Sendable {
        /// Those that the system trusts.
        case system
        /// Those in a PEM file, and no others.
        case file(String)
        /// Those in these PEM bytes, and no others.
        case pem([UInt8])
    }

    /// Which authorities may vouch for the server; by default the system's.
    public var trust: Trust
    /// Takes any certificate for any host.
    ///
    /// For development only: anyone on the way can read and change everything.
    public var isInsecure: Bool

    /// Makes options; by default the system's authorities and every check.
    public init(trust: Trust = .system, isInsecure: Bool = false) {
        (self.trust, self.isInsecure) = (trust, isInsecure)
    }
}
