import NIOSSL
import WebSocketCore

/// Sees which certificates BoringSSL verified, and at which one it stopped; lives on the event loop.
final class ChainWatch {
    private let takesAny: Bool
    private var seen: [ServerCertificate] = []
    /// The certificate that was not good enough.
    private(set) var rejected: ServerCertificate?

    init(takesAny: Bool) { self.takesAny = takesAny }

    /// The verified chain, the server's own certificate first.
    var chain: [ServerCertificate] { seen.reversed() }

    /// Called from the root to the server's own certificate, and for each fault.
    func saw(_ result: NIOSSLVerificationResult, _ certificate: NIOSSLCertificate) -> NIOSSLVerificationResult {
        // What cannot be read matches no pin.
        let read = (try? certificate.toDERBytes()).flatMap { ServerCertificate(der: $0) }
        if case .failed = result, !takesAny {
            rejected = read
            return .failed
        }
        if let read, seen.last != read { seen.append(read) }
        return .certificateVerified
    }

    /// Nobody will ask for it any more.
    func forget() { seen = [] }
}
