#if HTTP2
    import NIOCore
    import NIOHTTP2
    import WebSocketCore
    import WebSocketRuntime

    /// The HTTP/2 connections of this process that may take more WebSockets, and the attempts to open new ones.
    final class HTTP2Pool: Sendable {
        static let shared = HTTP2Pool()

        /// The way to open a WebSocket at a place.
        enum Way {
            /// A stream on this connection; the receiver must open the stream or call `leave`.
            case link(HTTP2Link)
            /// Another task is opening a connection: wait for its result.
            case wait(EventLoopFuture<Void>)
            /// A new connection; the receiver must report its result with `endDial`.
            case dial(EventLoopPromise<Void>)
            /// HTTP/1.1, because the server does not support WebSockets over HTTP/2.
            case http1
        }

        private struct Member {
            let link: HTTP2Link
            let place: HTTP2Place
            var streams = 0
            var maximum: Int
        }
        private struct State {
            var members: [ObjectIdentifier: Member] = [:]
            /// The connections of each place that take more streams, the oldest first.
            var open: [HTTP2Place: [ObjectIdentifier]] = [:]
            var dials: [HTTP2Place: EventLoopFuture<Void>] = [:]
            var onlyHTTP1: [HTTP2Place: NIODeadline] = [:]

            mutating func retire(_ id: ObjectIdentifier) {
                guard let place = members[id]?.place else { return }
                open[place]?.removeAll { $0 == id }
                if open[place]?.isEmpty == true { open[place] = nil }
            }
        }
        private let state = LockedValue(State())

        /// How long the pool remembers that a place does not support WebSockets over HTTP/2; servers may be upgraded.
        private static let memory = TimeAmount.minutes(10)
        private static let capacity = 1000

        /// Returns the way to a place; with `mayFallBack` also without HTTP/2.
        func way(to place: HTTP2Place, mayFallBack: Bool, on loop: any EventLoop) -> Way {
            state.withLockedValue { state in
                if mayFallBack, let until = state.onlyHTTP1[place] {
                    if NIODeadline.now() < until { return .http1 }
                    state.onlyHTTP1[place] = nil
                }
                for id in state.open[place] ?? [] {
                    guard let member = state.members[id], member.streams < member.maximum else { continue }
                    state.members[id]?.streams += 1
                    return .link(member.link)
                }
                if let dial = state.dials[place] { return .wait(dial) }
                let promise = loop.makePromise(of: Void.self)
                state.dials[place] = promise.futureResult
                return .dial(promise)
            }
        }

        /// Ends a dial; the waiting tasks continue, or fail with the same error.
        func endDial(to place: HTTP2Place, _ dial: EventLoopPromise<Void>, _ error: TransportError? = nil) {
            state.withLockedValue { state in
                if state.dials[place] === dial.futureResult { state.dials[place] = nil }
            }
            if let error { dial.fail(error) } else { dial.succeed() }
        }

        /// Adds a new connection, with one stream reserved for the task that has opened it.
        func add(_ link: HTTP2Link, to place: HTTP2Place, maximum: Int) {
            state.withLockedValue { state in
                let id = ObjectIdentifier(link.channel)
                state.members[id] = Member(link: link, place: place, streams: 1, maximum: maximum)
                state.open[place, default: []].append(id)
            }
        }

        /// Sets the number of streams that the server allows from now on.
        func limit(_ channel: any Channel, to maximum: Int) {
            state.withLockedValue { $0.members[ObjectIdentifier(channel)]?.maximum = maximum }
        }

        /// Stops using a connection for new streams: the server said so, or it may be broken.
        func retire(_ channel: any Channel) { state.withLockedValue { $0.retire(ObjectIdentifier(channel)) } }

        /// Removes a connection that has ended.
        func remove(_ channel: any Channel) {
            let id = ObjectIdentifier(channel)
            state.withLockedValue { state in
                state.retire(id)
                state.members[id] = nil
            }
        }

        /// Counts a stream that has ended or was not opened; closes the connection after its last one.
        func leave(_ link: HTTP2Link) {
            let id = ObjectIdentifier(link.channel)
            let isLast = state.withLockedValue { state in
                state.members[id]?.streams -= 1
                guard state.members[id]?.streams == 0 else { return false }
                state.retire(id)
                state.members[id] = nil
                return true
            }
            if isLast { link.close() }
        }

        /// Avoids HTTP/2 for this place for a while.
        func fallBack(at place: HTTP2Place) {
            state.withLockedValue { state in
                if state.onlyHTTP1.count >= Self.capacity { state.onlyHTTP1 = [:] }
                state.onlyHTTP1[place] = .now() + Self.memory
            }
        }
    }

    /// Everything that two WebSockets must have in common to share a TCP connection.
    struct HTTP2Place: Hashable {
        private struct Checks: Hashable {
            let trust: TLSOptions.Trust
            let additionalRoots: [PEMSource]
            let pins: [PinSet]
            let identity: ClientIdentity.Form?
            let passphrase: String?
            let minimumVersion: TLSOptions.Version
            let applicationProtocols: [String]
            let serverName: String?
            let isInsecure: Bool

            init(_ tls: TLSOptions) {
                (trust, additionalRoots, pins, minimumVersion) = (tls.trust, tls.additionalRoots, tls.pins, tls.minimumVersion)
                (identity, passphrase) = (tls.identity?.form, tls.identity?.passphrase)
                (applicationProtocols, serverName, isInsecure) = (tls.applicationProtocols, tls.serverName, tls.isInsecure)
            }
        }

        private let isSecure: Bool
        private let host: String
        private let port: Int
        private let socketPath: String?
        private let proxy: Proxy?
        private let tls, proxyTLS: Checks
        private let group: ObjectIdentifier
        let window: Int
        /// A unique number for options that must not share a connection.
        private let number: UInt64?

        init(_ options: ClientOptions, _ group: any EventLoopGroup) {
            (isSecure, host, port) = (options.url.isSecure, options.url.host, options.url.port)
            (socketPath, proxy) = (options.url.socketPath, options.proxy)
            (tls, proxyTLS, self.group) = (Checks(options.tls), Checks(options.proxyTLS), ObjectIdentifier(group))
            window = options.connection.http2Window
            // Closures cannot be compared, and each of them must be called.
            let isAlone = options.tls.onPinReport != nil || options.proxyTLS.onPinReport != nil || options.resolver != nil
            number = isAlone ? Self.nextNumber() : nil
        }

        private static let numbers = LockedValue<UInt64>(0)

        private static func nextNumber() -> UInt64 {
            numbers.withLockedValue { number in
                number += 1
                return number
            }
        }
    }

    /// A TCP connection with HTTP/2, for the WebSockets of one place.
    final class HTTP2Link: Sendable {
        let channel: any Channel
        private let multiplexer: NIOHTTP2Handler.StreamMultiplexer

        init(_ channel: any Channel, _ multiplexer: NIOHTTP2Handler.StreamMultiplexer) {
            (self.channel, self.multiplexer) = (channel, multiplexer)
        }

        /// Opens a WebSocket on a stream that ``HTTP2Pool`` has reserved.
        func open(_ handshake: ClientHandshake, _ options: ClientOptions, _ opened: EventLoopPromise<WebSocketChannel>) {
            let made = channel.eventLoop.makePromise(of: (any Channel).self)
            multiplexer.createStreamChannel(promise: made) { stream in
                stream.eventLoop.makeCompletedFuture {
                    try stream.syncOptions?.setOption(.autoRead, value: false)
                    try stream.pipeline.syncOperations.addHandlers([
                        HTTP2StreamHandler(isTunnel: true), HTTP2ClientHandshakeHandler(handshake, options: options, opened: opened),
                    ])
                }
            }
            made.futureResult.whenComplete { [self] result in
                switch result {
                case .success(let stream):
                    stream.closeFuture.whenComplete { _ in HTTP2Pool.shared.leave(self) }
                    // A stream of a connection that has ended meanwhile would never start.
                    if !channel.isActive { stream.close(promise: nil) }
                    // The attempt may have been given up meanwhile: then nobody waits for the stream.
                    opened.futureResult.whenFailure { _ in stream.close(promise: nil) }
                case .failure(let error):
                    HTTP2Pool.shared.leave(self)
                    opened.fail(TransportError(.lost, "\(options.url) hung up during the handshake", underlying: error))
                }
            }
        }

        /// Closes the connection after its last stream has ended.
        func close() {
            let goAway = HTTP2Frame(
                streamID: .rootStream, payload: .goAway(lastStreamID: .rootStream, errorCode: .noError, opaqueData: nil))
            channel.eventLoop.execute { [channel] in
                channel.writeAndFlush(goAway, promise: nil)
                channel.close(promise: nil)
            }
        }
    }

    /// Waits for the server's settings, and handles the frames of the connection as a whole.
    final class HTTP2LinkHandler: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        private let http2: NIOHTTP2Handler
        private let options: ClientOptions
        private let place: HTTP2Place
        /// Receives the result of the dial; nil after that.
        private var dialed: EventLoopPromise<NIOConnector.Dialed>?
        private var deadline: Scheduled<Void>?

        init(_ http2: NIOHTTP2Handler, _ options: ClientOptions, _ place: HTTP2Place, _ dialed: EventLoopPromise<NIOConnector.Dialed>) {
            (self.http2, self.options, self.place, self.dialed) = (http2, options, place, dialed)
        }

        func handlerAdded(context: ChannelHandlerContext) {
            let limit = options.handshakeTimeout
            deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { [weak self] in
                guard let self else { return }
                end(context, with: TransportError(.timedOut, "\(options.url) did not send its HTTP/2 settings within \(limit)"))
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data).payload {
            case .settings(.settings(let settings)): read(settings, context)
            case .goAway: HTTP2Pool.shared.retire(context.channel)
            default: break
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            end(context, with: TransportError(.lost, "\(options.url) hung up during the handshake"))
            HTTP2Pool.shared.remove(context.channel)
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if error.isOfOneStream { return }
            let isHTTP2 = error is any NIOHTTP2Error
            end(
                context,
                with: isHTTP2
                    ? TransportError(.invalidHandshake, "\(options.url) violated HTTP/2: \(error)", underlying: error)
                    : TransportError(handshaking: error, with: options.url))
            HTTP2Pool.shared.remove(context.channel)
            context.close(promise: nil)
        }

        private func read(_ settings: HTTP2Settings, _ context: ChannelHandlerContext) {
            let maximum = settings.value(.maxConcurrentStreams)
            guard let dialed = dialed.take() else {
                if let maximum { HTTP2Pool.shared.limit(context.channel, to: maximum) }
                return
            }
            deadline?.cancel()
            guard settings.value(.enableConnectProtocol) == 1, let multiplexer = try? http2.syncMultiplexer() else {
                dialed.succeed(.noWebSockets)
                return context.close(promise: nil)
            }
            let link = HTTP2Link(context.channel, multiplexer)
            // The first stream is reserved for the task that has opened the connection, whatever the server's limit is later.
            HTTP2Pool.shared.add(link, to: place, maximum: maximum ?? .max)
            dialed.succeed(.link(link))
        }

        private func end(_ context: ChannelHandlerContext, with error: TransportError) {
            guard let dialed = dialed.take() else { return }
            deadline?.cancel()
            dialed.fail(error)
            context.close(promise: nil)
        }
    }
#endif
