import Holdfast
import WebSocketRuntime
import NIOCore
import NIOSSL
import NIOTLS
import ScriptedPeers

/// A TLS server with any configuration that accepts each upgrade and waits for the client's close.
struct TrustPeer: Sendable {
    /// What the server saw of its clients.
    struct Seen: Sendable {
        var serverName: String?
        var applicationProtocol: String?
        var requests = 0
        var bytes = 0
    }

    let certificates: TrustCertificates
    var identity = "leaf"
    var chain = "leaf-chain"
    var version: TLSVersion?
    var wantsClientCertificate = false
    /// The answer to each request except one for `/taken`, after a request for a client certificate; nil accepts.
    var refusal: ResponseHead?
    var applicationProtocols: [String] = []
    let seen = LockedValue(Seen())

    func run(_ client: (_ port: String) async throws -> Void) async throws {
        let context = try NIOSSLContext(configuration: configuration())
        try await withScriptedServer { [seen] channel in
            try channel.pipeline.syncOperations.addHandlers([NIOSSLServerHandler(context: context), TrustRecorder(seen)])
        } _: { [seen, refusal] peer in
            guard let request = try? await peer.readRequest() else { return }
            if let refusal, request.target != "/taken" {
                try? await peer.send(refusal.encoded())
                return
            }
            seen.withLockedValue { $0.requests += 1 }
            try? await peer.send(ResponseHead(status: 101, headers: ScriptedPeer.acceptance(of: request)).encoded())
            _ = try? await peer.answerClose(to: .client)
        } client: { url in
            try await client(String(url.dropFirst("ws://127.0.0.1:".count).dropLast()))
        }
    }

    private func configuration() throws -> TLSConfiguration {
        let own = try NIOSSLCertificate.fromPEMFile(certificates.path("\(chain).pem")).map { NIOSSLCertificateSource.certificate($0) }
        let key = try NIOSSLPrivateKey(file: certificates.path("\(identity).key"), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: own, privateKey: .privateKey(key))
        if let version { (configuration.minimumTLSVersion, configuration.maximumTLSVersion) = (version, version) }
        configuration.applicationProtocols = applicationProtocols
        if wantsClientCertificate || refusal != nil {
            configuration.certificateVerification = wantsClientCertificate ? .noHostnameVerification : .optionalVerification
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(certificates.path("root.pem")))
        }
        configuration.sslContextCallback = { [seen] values, promise in
            seen.withLockedValue { $0.serverName = values.serverHostname }
            promise.succeed(.noChanges)
        }
        return configuration
    }
}

/// Records the agreed protocol and the received bytes.
private final class TrustRecorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let seen: LockedValue<TrustPeer.Seen>

    init(_ seen: LockedValue<TrustPeer.Seen>) { self.seen = seen }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let name)? = event as? TLSUserEvent {
            seen.withLockedValue { $0.applicationProtocol = name }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let count = unwrapInboundIn(data).readableBytes
        seen.withLockedValue { $0.bytes += count }
        context.fireChannelRead(data)
    }
}
