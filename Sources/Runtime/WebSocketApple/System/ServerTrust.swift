package import WebSocketRuntime

/// A server that waits for our judgement during the TLS handshake.
package struct ServerTrust: Sendable {
    /// The name that was connected to.
    package let host: String
    /// The certificates of the verified chain in DER, the server's own first; as sent, if the system does not trust them.
    package let chain: [[UInt8]]
    /// Whether the system trusts it, by its own authorities and for this host.
    package let isTrustedBySystem: Bool

    package init(host: String, chain: [[UInt8]], isTrustedBySystem: Bool) {
        (self.host, self.chain, self.isTrustedBySystem) = (host, chain, isTrustedBySystem)
    }
}

/// Judges a server: nil takes it, an error refuses it and is what the app is told.
///
/// Called on a thread of the session's: it must not block.
package typealias ServerTrustCheck = @Sendable (ServerTrust) -> TransportError?

extension ServerTrust {
    /// The system's judgement, and no other.
    package static let bySystem: ServerTrustCheck = { trust in
        trust.isTrustedBySystem ? nil : TransportError(.tls, "the system does not trust the certificate of \(trust.host)")
    }
}
