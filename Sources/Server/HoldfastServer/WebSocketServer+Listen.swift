import Holdfast
import NIOCore
import NIOPosix
import NIOSSL
import WebSocketNIO

extension WebSocketServer {
    func listen(
        _ channels: ChannelRegistry, onOpen: @escaping @Sendable (WebSocketChannel, RequestHead) -> Void
    ) async throws(WebSocketError) -> any Channel {
        let tls = try configuration.tls.map { options throws(WebSocketError) in try options.context() }
        let (open, full) = (serverOptions(), overloadedOptions())
        do {
            return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 1024)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.autoRead, value: false)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let welcome = channels.add(channel)
                        if welcome == .ignored { throw ChannelError.ioOnClosedChannel }
                        if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                        let options = welcome == .open ? open : full
                        try channel.pipeline.syncOperations.addHandler(ServerHandshakeHandler(options, onOpen: onOpen))
                    }
                }
                .bind(host: configuration.host, port: configuration.port).get()
        } catch {
            let place = "\(configuration.host):\(configuration.port)"
            throw WebSocketError(TransportError(.unreachable, "cannot listen on \(place): \(error)", underlying: error))
        }
    }

    private func serverOptions() -> ServerOptions {
        let (upgrade, http) = (upgrade, http)
        var options = ServerOptions { handshake, peer in
            let request = UpgradeRequest(head: handshake.request, subprotocols: handshake.offeredSubprotocols, remoteAddress: peer)
            return switch await upgrade(request) {
            case .accept(let subprotocol, let headers): .accept(subprotocol: subprotocol, headers: headers)
            case .refuse(let response): .answer(response.plain)
            }
        } answer: {
            await http($0).plain
        }
        options.headLimit = configuration.limits.head
        options.isSecure = configuration.tls != nil
        if case .inline(let make) = handler {
            options.inline = {
                make(UpgradeRequest(head: $0, subprotocols: $0.headers.tokens("Sec-WebSocket-Protocol"), remoteAddress: $1))
            }
        }
        options.handshakeTimeout = configuration.timeouts.handshake
        options.connection = ConnectionSettings(
            role: .server, limits: configuration.limits, timeouts: configuration.timeouts, compression: configuration.compression,
            delivery: configuration.delivery)
        options.connection.stallTimeout =
            switch configuration.slowConsumers {
            case .wait: nil
            case .disconnect(let after): after
            }
        return options
    }

    /// What a client meets when there are too many, or the server is about to end.
    private func overloadedOptions() -> ServerOptions {
        let busy = HTTPResponse(status: 503, headers: ["Retry-After": "5"], body: Array("too many connections\n".utf8)).plain
        var options = ServerOptions { _, _ in
            .answer(busy)
        } answer: { _ in
            busy
        }
        (options.headLimit, options.handshakeTimeout) = (configuration.limits.head, configuration.timeouts.handshake)
        return options
    }
}

extension ServerTLSOptions {
    func context() throws(WebSocketError) -> NIOSSLContext {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificateChainFile).map { NIOSSLCertificateSource.certificate($0) }
            let key = try NIOSSLPrivateKey(file: privateKeyFile, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
            configuration.applicationProtocols = ["http/1.1"]
            return try NIOSSLContext(configuration: configuration)
        } catch {
            let files = "\(certificateChainFile), \(privateKeyFile)"
            throw WebSocketError(
                TransportError(.invalidConfiguration, "the certificate or key cannot be used (\(files)): \(error)", underlying: error))
        }
    }
}
