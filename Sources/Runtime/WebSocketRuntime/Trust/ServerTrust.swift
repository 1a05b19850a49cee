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
