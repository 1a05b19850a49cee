package import NIOCore
import NIOSSL
package import WebSocketCore
package import WebSocketRuntime

/// TLS with one host.
struct ClientTLS: Sendable {
    private let context: NIOSSLContext
    private let trust: TrustContext

    /// Creates the TLS options for a host; `place` is its name in errors, and `isInspection` accepts any chain, for inspection.
    init(_ options: TLSOptions, host: String, place: String, isInspection: Bool = false) throws(TransportError) {
        try options.check(for: "this way to \(place)")
        #if canImport(Darwin)
            if options.trust == .system, !options.pins.isEmpty {
                // There, the system's own verification does not tell NIOSSL which chain it verified.
                throw TransportError(.invalidConfiguration, "pins through NIOSSL need TLSOptions.trust to name the authorities here")
            }
        #endif
        trust = TrustContext(options: options, host: host, place: place, isInspection: isInspection)
        var configuration = TLSConfiguration.makeClientConfiguration()
        let roots = options.trust.source
        if let roots { configuration.trustRoots = .certificates(try roots.certificates(of: "the trusted certificates")) }
        for root in options.additionalRoots {
            configuration.additionalTrustRoots.append(.certificates(try root.certificates(of: "the additional roots")))
        }
        // An inspected server may be anyone, and must not learn who inspects it, unless the options accept any server.
        if !isInspection || options.isInsecure { try options.identity?.apply(to: &configuration) }
        configuration.minimumTLSVersion = options.minimumVersion == .tls13 ? .tlsv13 : .tlsv12
        // RFC 9112 over TLS: a server that also supports HTTP/2 must not choose it unless it was offered.
        configuration.applicationProtocols = options.applicationProtocols
        if options.isInsecure, !isInspection {
            configuration.certificateVerification = .none
        } else if isInspection || trust.address != nil {
            // The gate verifies an address: NIOSSL would compare the socket's own address with the certificate, which may be a proxy's.
            configuration.certificateVerification = .noHostnameVerification
        }
        let wasAsked = trust.wasAskedForCertificate
        configuration.sslContextCallback = { _, promise in
            wasAsked.withLockedValue { $0 = true }
            promise.succeed(.noChanges)
        }
        do {
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            let advice = options.identity.map { "; does the key belong to the client certificate (\($0))?" } ?? ""
            throw TransportError(
                .invalidConfiguration, "TLS cannot be set up for \(place): \(BoringSSLReason.words(of: error))\(advice)", underlying: error)
        }
    }

    /// Adds TLS to the end of the pipeline, with the gate that holds back the request until the server is trusted.
    func install(on pipeline: ChannelPipeline.SynchronousOperations) throws {
        let watch = ChainWatch(takesAny: trust.isInspection)
        do {
            let tls = try Self.handler(NIOSSLClientHandler.self, context: context, name: trust.serverName, watch: watch)
            try pipeline.addHandlers([tls, TrustGate(trust, watch: watch, tls: tls)])
        } catch let error as NIOSSLExtraError {
            throw TransportError(
                .invalidConfiguration,
                "TLS cannot be set up for \(trust.place): \(trust.host) is not a valid name for SNI; "
                    + "set TLSOptions.serverName", underlying: error)
        }
    }

    private static func handler<Handler: ChainReporter>(
        _: Handler.Type, context: NIOSSLContext, name: String?, watch: ChainWatch
    ) throws -> Handler {
        try Handler(context: context, serverHostname: name, verificationCallback: watch.saw)
    }
}

/// The one callback through which NIOSSL reports the verified chain.
///
/// NIOSSL has deprecated it, but its successor replaces the whole verification, which BoringSSL should do.
private protocol ChainReporter {
    init(context: NIOSSLContext, serverHostname: String?, verificationCallback: NIOSSLVerificationCallback?) throws
}
extension NIOSSLClientHandler: ChainReporter {}

extension TLSOptions.Trust {
    /// The configured authorities; nil for the system's.
    fileprivate var source: PEMSource? {
        switch self {
        case .system: nil
        case .file(let path): .file(path)
        case .pem(let bytes): .bytes(bytes)
        }
    }
}

extension PEMSource {
    fileprivate func certificates(of what: String) throws(TransportError) -> [NIOSSLCertificate] {
        do {
            let certificates =
                switch self {
                case .file(let path): try NIOSSLCertificate.fromPEMFile(path)
                case .bytes(let bytes): try NIOSSLCertificate.fromPEMBytes(bytes)
                }
            guard !certificates.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
            return certificates
        } catch {
            let reason = mistake ?? BoringSSLReason.words(of: error)
            throw TransportError(.invalidConfiguration, "\(what) cannot be read (\(words)): \(reason)", underlying: error)
        }
    }
}

extension ClientIdentity {
    fileprivate func apply(to configuration: inout TLSConfiguration) throws(TransportError) {
        do {
            switch form {
            case .pem(let certificates, let key):
                let chain = try certificates.certificates(of: "the client certificate")
                let privateKey = try privateKey(key)
                configuration.certificateChain = chain.map { .certificate($0) }
                configuration.privateKey = .privateKey(privateKey)
            case .pkcs12(let source):
                let bundle = try bundle(source)
                configuration.certificateChain = bundle.certificateChain.map { .certificate($0) }
                configuration.privateKey = .privateKey(bundle.privateKey)
            }
        } catch let error as TransportError {
            throw error
        } catch {
            throw TransportError(
                .invalidConfiguration,
                "the client certificate cannot be used (\(self)): \(BoringSSLReason.words(of: error)); are passphrase and key right?",
                underlying: error)
        }
    }

    /// Without a passphrase an empty one is tried, because BoringSSL would ask the terminal.
    private func privateKey(_ source: PEMSource) throws -> NIOSSLPrivateKey {
        let passphrase = Array((passphrase ?? "").utf8)
        do {
            return switch source {
            case .file(let path): try NIOSSLPrivateKey(file: path, format: .pem) { $0(passphrase) }
            case .bytes(let bytes): try NIOSSLPrivateKey(bytes: bytes, format: .pem) { $0(passphrase) }
            }
        } catch {
            guard let mistake = source.mistake else { throw error }
            throw TransportError(
                .invalidConfiguration, "the client certificate's key cannot be read (\(source.words)): \(mistake)", underlying: error)
        }
    }

    private func bundle(_ source: PEMSource) throws -> NIOSSLPKCS12Bundle {
        let passphrase = passphrase.map { Array($0.utf8) }
        return switch source {
        case .file(let path): try NIOSSLPKCS12Bundle(file: path, passphrase: passphrase)
        case .bytes(let bytes): try NIOSSLPKCS12Bundle(buffer: bytes, passphrase: passphrase)
        }
    }
}

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
