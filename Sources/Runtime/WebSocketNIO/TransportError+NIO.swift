import NIOCore
import NIOPosix
import NIOSSL
import WebSocketCore
import WebSocketRuntime

#if canImport(Network)
    import Network
#endif

extension TransportError {
    /// Converts an error while connecting.
    init(connecting error: any Error, to url: WebSocketURL) {
        switch error {
        case let error as TransportError: self = error
        case let error as NIOConnectionError:
            if let lookup = error.dnsAError ?? error.dnsAAAAError, error.connectionErrors.isEmpty {
                self.init(.unresolved, "the host \(url.host) could not be found: \(lookup)", underlying: error)
            } else if error.connectionErrors.contains(where: { $0.error is ChannelError }) {
                self.init(.timedOut, "\(url) did not answer in time", underlying: error)
            } else {
                let cause = error.connectionErrors.last.map { Self.words($0.error) } ?? "\(error)"
                self.init(.unreachable, "could not connect to \(url): \(cause)", underlying: error)
            }
        case ChannelError.connectTimeout(let limit):
            self.init(.timedOut, "\(url) did not answer within \(limit.nanoseconds / 1_000_000) ms", underlying: error)
        #if canImport(Network)
            case NWError.tls: self.init(.tls, "TLS with \(url) failed: \(error)", underlying: error)
            case NWError.dns: self.init(.unresolved, "the host \(url.host) could not be found: \(error)", underlying: error)
        #endif
        case is NIOSSLExtraError:
            self.init(.invalidConfiguration, "TLS cannot be set up for \(url): \(error)", underlying: error)
        default:
            self.init(.unreachable, "could not connect to \(url): \(Self.words(error))", underlying: error)
        }
    }

    /// Converts an error between the connection and the end of the handshake.
    init(handshaking error: any Error, with url: WebSocketURL) {
        switch error {
        case let error as TransportError: self = error
        // The peer closed the connection: TLS reports it first, and the certificate is not the reason.
        case NIOSSLError.uncleanShutdown, NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])):
            self.init(.lost, "\(url) hung up during the handshake", underlying: error)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self.init(.tls, "TLS with \(url) failed: \(error)", underlying: error)
        default:
            self.init(.lost, "the link to \(url) failed during the handshake: \(Self.words(error))", underlying: error)
        }
    }

    /// The text of a system error, without the name of the failed call.
    static func words(_ error: any Error) -> String {
        guard let error = error as? IOError else { return "\(error)" }
        return String(cString: strerror(error.errnoCode)).lowercased()
    }
}
