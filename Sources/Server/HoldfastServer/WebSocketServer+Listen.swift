import Holdfast
import NIOCore
import NIOPosix
import NIOSSL
import WebSocketNIO
import WebSocketRuntime

extension WebSocketServer {
    typealias OnOpen = @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void

    func listen(
        _ channels: ChannelRegistry, _ arrivals: [Arrivals], _ guestList: GuestList?, _ meters: ServerMeters?
    ) async throws(WebSocketError) -> ListeningSocket {
        let tls = try configuration.tls.map { options throws(WebSocketError) in try options.context(configuration.httpVersion) }
        if let odd = configuration.origins.firstInvalid {
            throw WebSocketError(
                TransportError(.invalidConfiguration, "an origin is like https://example.org, without a path, or *; not \(odd)"))
        }
        let (open, full) = (serverOptions(guestList, meters), overloadedOptions(guestList, meters))
        let openStreams = http2Options { stream in
            let welcome = channels.add(stream)
            if welcome == .ignored { meters?.refused(.full) }
            return welcome == .ignored ? nil : welcome == .open ? open : full
        }
        let fullStreams = http2Options { _ in full }
        let places = Dictionary(
            uniqueKeysWithValues: arrivals.map { ($0.id, (arrivals: $0, onOpen: counted(meters, welcome(channels, $0)))) })
        do {
            let (isTCP, gate) = (configuration.unixSocket == nil, AcceptGate())
            let backlog: Int32 = 1024
            return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: backlog)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer { listener in
                    listener.eventLoop.makeCompletedFuture { try listener.pipeline.syncOperations.addHandler(gate) }
                }
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        gate.count(channel)
                        let welcome = channels.add(channel)
                        if welcome == .ignored { meters?.refused(.full) }
                        guard welcome != .ignored, let place = places[ObjectIdentifier(channel.eventLoop)] else {
                            throw ChannelError.ioOnClosedChannel
                        }
                        // Set directly and not as bootstrap options, which need a future each.
                        try channel.syncOptions?.setOption(.autoRead, value: false)
                        if isTCP { try channel.syncOptions?.setOption(.tcpOption(.tcp_nodelay), value: 1) }
                        if isTCP, let limit = configuration.unsentLimit {
                            // Optional: not every system supports it.
                            try? channel.syncOptions?.setOption(.tcpOption(.unsentLimit), value: limit)
                        }
                        if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                        let options = welcome == .open ? open : full
                        let handler: any ChannelHandler
                        if configuration.httpVersion == .http1 {
                            handler = options.handshakeHandler(at: place.arrivals, onOpen: place.onOpen)
                        } else {
                            let streams = welcome == .open ? openStreams : fullStreams
                            handler = HTTPVersionHandler(options, streams, at: place.arrivals, onOpen: place.onOpen)
                        }
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                }
                .bind(to: configuration, backlog: backlog)
        } catch {
            let place = configuration.unixSocket ?? "\(configuration.host):\(configuration.port)"
            throw WebSocketError(TransportError(.unreachable, "cannot listen on \(place): \(error)", underlying: error))
        }
    }

    /// Returns the code that handles the connections that open on one event loop.
    private func welcome(_ channels: ChannelRegistry, _ arrivals: Arrivals) -> OnOpen {
        // A handshake may finish just after the shutdown has begun: its client is told too.
        if case .task = handler {
            return { socket, request, peer in
                if arrivals.add(socket, request, peer) { return }
                socket.sayGoodbye(.shutdown)
                socket.whenEnded { withExtendedLifetime(socket) {} }
            }
        }
        return { socket, _, _ in
            // There is no task to keep it alive: the registry does.
            if !channels.open(socket) { socket.sayGoodbye(.shutdown) }
            socket.whenEnded { [id = socket.id] in channels.end(id) }
        }
    }

    private func counted(_ meters: ServerMeters?, _ onOpen: @escaping OnOpen) -> OnOpen {
        guard let meters else { return onOpen }
        return { socket, request, peer in
            meters.opened(socket)
            onOpen(socket, request, peer)
        }
    }

    private func serverOptions(_ guestList: GuestList?, _ meters: ServerMeters?) -> ServerOptions {
        let (http, guests) = (http, guestList?.server)
        var options = ServerOptions(decide: decide) { request, peer in
            if let guests, request.majorVersion == 1 { await guests.turnAway(request, peer).plain } else { await http(request).plain }
        }
        if let meters { options.onOutcome = { meters.ended($0) } }
        options.guests = guestList?.guests
        options.origins = configuration.origins
        options.headLimit = configuration.limits.head
        options.isSecure = configuration.tls != nil
        if case .inline(let make) = handler {
            options.inline = { make(UpgradeRequest($0, from: $1)) }
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

    private var decide: (@Sendable (ServerHandshake, SocketAddress?) async -> ServerOptions.Decision)? {
        guard let upgrade else { return nil }
        return { handshake, peer in
            switch await upgrade(UpgradeRequest(handshake.request, subprotocols: handshake.offeredSubprotocols, from: peer)) {
            case .accept(let subprotocol, let headers): .accept(subprotocol: subprotocol, headers: headers)
            case .refuse(let response): .answer(response.plain)
            }
        }
    }

    private func http2Options(_ welcome: @escaping @Sendable (any Channel) -> ServerOptions?) -> HTTP2ServerOptions {
        HTTP2ServerOptions(
            version: configuration.httpVersion, offersWebSockets: configuration.http2.offersWebSockets,
            maximumStreams: configuration.http2.maximumStreams, idleTimeout: configuration.http2.idleTimeout, welcome: welcome)
    }

    /// The options for clients beyond the limit, or while the server is shutting down.
    private func overloadedOptions(_ guestList: GuestList?, _ meters: ServerMeters?) -> ServerOptions {
        let busy = HTTPResponse(status: 503, headers: ["Retry-After": "5"], body: Array("too many connections\n".utf8)).plain
        let guests = guestList?.server
        var options = ServerOptions { _, _ in
            .answer(busy)
        } answer: { request, peer in
            if let guests, request.majorVersion == 1 { await guests.turnAway(request, peer).plain } else { busy }
        }
        if let meters { options.onOutcome = { _ in meters.refused(.full) } }
        (options.headLimit, options.handshakeTimeout) = (configuration.limits.head, configuration.timeouts.handshake)
        options.isSecure = configuration.tls != nil
        // All are told to retry: 403 would be permanent.
        options.origins = .any
        return options
    }
}

extension ServerTLSOptions {
    func context(_ version: HTTPVersion) throws(WebSocketError) -> NIOSSLContext {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificateChainFile).map { NIOSSLCertificateSource.certificate($0) }
            let key = try NIOSSLPrivateKey(file: privateKeyFile, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = minimumVersion == .tls13 ? .tlsv13 : .tlsv12
            configuration.applicationProtocols =
                switch version {
                case .automatic: ["h2", "http/1.1"]
                case .http1: ["http/1.1"]
                case .http2: ["h2"]
                }
            return try NIOSSLContext(configuration: configuration)
        } catch {
            for file in [certificateChainFile, privateKeyFile] {
                guard let mistake = PEMSource.file(file).mistake else { continue }
                throw WebSocketError(TransportError(.invalidConfiguration, "\(file) cannot be used: \(mistake)", underlying: error))
            }
            let files = "\(certificateChainFile), \(privateKeyFile)"
            throw WebSocketError(
                TransportError(.invalidConfiguration, "the certificate or key cannot be used (\(files)): \(error)", underlying: error))
        }
    }
}

/// A listening socket.
struct ListeningSocket: Sendable {
    let channel: any Channel
    /// Nil if it listens on a port.
    let file: UnixSocketFile?
}

extension ServerBootstrap {
    /// Listens at the configured address.
    func bind(to configuration: WebSocketServerConfiguration, backlog: Int32) async throws -> ListeningSocket {
        guard let path = configuration.unixSocket else {
            return ListeningSocket(channel: try await bind(host: configuration.host, port: configuration.port).get(), file: nil)
        }
        let file = try UnixSocketFile.claim(path, permissions: configuration.unixSocketPermissions, backlog: backlog)
        do {
            return ListeningSocket(channel: try await withBoundSocket(file.descriptor).get(), file: file)
        } catch {
            file.remove()
            throw error
        }
    }
}

extension NIOBSDSocket.Option {
    #if canImport(Darwin)
        /// `TCP_NOTSENT_LOWAT`: how many unsent bytes the system may hold before the socket accepts no more.
        static let unsentLimit = NIOBSDSocket.Option(rawValue: 0x201)
    #else
        /// `TCP_NOTSENT_LOWAT`: how many unsent bytes the system may hold before the socket accepts no more.
        static let unsentLimit = NIOBSDSocket.Option(rawValue: 25)
    #endif
}
