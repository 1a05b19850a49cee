import NIOSSL
import WebSocketRuntime

/// TLS towards one host.
struct ClientTLS: Sendable {
    private let context: NIOSSLContext
    private let host: String

    init(_ options: TLSOptions, host: String) throws(TransportError) {
        self.host = host
        do {
            var configuration = TLSConfiguration.makeClientConfiguration()
            switch options.trust {
            case .system: break
            case .file(let path): configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(path))
            case .pem(let bytes): configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(bytes))
            }
            if options.isInsecure { configuration.certificateVerification = .none }
            // RFC 9112 over TLS: a server that also speaks HTTP/2 must not choose it for us.
            configuration.applicationProtocols = ["http/1.1"]
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw TransportError(
                .invalidConfiguration, "the trusted certificates cannot be read (\(options.trust.words)): \(error)", underlying: error)
        }
    }

    func handler() throws -> NIOSSLClientHandler {
        do {
            return try NIOSSLClientHandler(context: context, serverHostname: host)
        } catch let error as NIOSSLExtraError where error == .cannotUseIPAddressInSNI {
            // RFC 6066 §3: no address in SNI. The certificate is then checked against the address.
            return try NIOSSLClientHandler(context: context, serverHostname: nil)
        }
    }
}

extension TLSOptions.Trust {
    fileprivate var words: String {
        switch self {
        case .system: "the system's"
        case .file(let path): path
        case .pem: "given as bytes"
        }
    }
}
