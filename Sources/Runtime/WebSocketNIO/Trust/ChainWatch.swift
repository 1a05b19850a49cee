package import NIOCore
import NIOSSL
package import WebSocketCore
package import WebSocketRuntime

/// Records which certificates BoringSSL verified, and at which one it stopped; used on the event loop.
final class ChainWatch {
    private let takesAny: Bool
    private var seen: [ServerCertificate] = []
    /// The certificate that was rejected.
    private(set) var rejected: ServerCertificate?

    init(takesAny: Bool) { self.takesAny = takesAny }

    /// The verified chain, the server's own certificate first.
    var chain: [ServerCertificate] { seen.reversed() }

    /// Called for each certificate from the root to the server's own, and for each fault.
    func saw(_ result: NIOSSLVerificationResult, _ certificate: NIOSSLCertificate) -> NIOSSLVerificationResult {
        // A certificate that cannot be read matches no pin.
        let read = (try? certificate.toDERBytes()).flatMap { ServerCertificate(der: $0) }
        if case .failed = result, !takesAny {
            rejected = read
            return .failed
        }
        if let read, seen.last != read { seen.append(read) }
        return .certificateVerified
    }

    /// Releases the chain, which is not needed any more.
    func forget() { seen = [] }
}

extension NIOConnector {
    /// Returns the certificate chain of a server, its own certificate first, up to the root that was found for it.
    ///
    /// The chain is verified as for a connection, including pins. With `isUnverified` it is accepted unchecked, and so does not prove who
    /// sent it.
    package static func chain(
        of options: ClientOptions, isUnverified: Bool, on group: any EventLoopGroup = defaultGroup
    ) async throws(TransportError) -> [ServerCertificate] {
        guard options.url.isSecure else {
            throw TransportError(.invalidConfiguration, "\(options.url) has no certificates: only wss: URLs have them")
        }
        let found = group.next().makePromise(of: [ServerCertificate].self)
        try open(options, on: group, isInspection: isUnverified, for: found) { ChainRecorder(options, found: found) }
        return try await result(of: found.futureResult, else: options) { found.fail($0) }
    }
}

/// Waits until the gate opens.
private final class ChainRecorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let options: ClientOptions
    private let found: EventLoopPromise<[ServerCertificate]>
    private var deadline: Scheduled<Void>?

    init(_ options: ClientOptions, found: EventLoopPromise<[ServerCertificate]>) { (self.options, self.found) = (options, found) }

    func channelActive(context: ChannelHandlerContext) {
        let (url, limit, found) = (options.url, options.handshakeTimeout, found)
        deadline = context.eventLoop.scheduleTask(in: TimeAmount(limit)) {
            found.fail(TransportError(.timedOut, "\(url) did not finish TLS within \(limit)"))
        }
        context.read()
        context.fireChannelActive()
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.read() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        guard let event = event as? TrustGate.Passed else { return }
        found.succeed(event.chain)
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { found.fail(TransportError(handshaking: error, with: options.url)) }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        found.fail(TransportError(.lost, "\(options.url) hung up during TLS"))
        context.fireChannelInactive()
    }
}
