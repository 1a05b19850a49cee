#if HTTP2
    import NIOCore
    import WebSocketCore
    import WebSocketRuntime

    extension NIOConnector {
        /// The result of a connection that was opened for HTTP/2.
        enum Dialed: Sendable {
            case link(HTTP2Link)
            /// The server chose HTTP/1.1; the WebSocket is requested on the same connection.
            case http1
            /// The server supports HTTP/2, but no WebSockets over it (RFC 8441 §3).
            case noWebSockets
        }

        /// Opens a WebSocket on a stream of an existing connection, or of a new one.
        static func connectOverHTTP2(
            _ handshake: ClientHandshake, _ options: ClientOptions, on group: any EventLoopGroup
        ) async throws(TransportError) -> WebSocketChannel {
            let (mayFallBack, loop) = (options.httpVersion == .automatic, group.next())
            var offering = options
            if options.url.isSecure { offering.tls.applicationProtocols = ["h2"] + (mayFallBack ? options.tls.applicationProtocols : []) }
            let place = HTTP2Place(offering, group)
            var isOwn = false
            // A failed connection is not used again, so the loop ends.
            while true {
                do throws(TransportError) {
                    switch HTTP2Pool.shared.way(to: place, mayFallBack: mayFallBack, on: loop) {
                    case .http1: return try await connect(options.onHTTP1, on: group)
                    case .wait(let dial): try await wait(for: dial, options)
                    case .link(let link):
                        return try await openStream(of: link, handshake, options, loop.makePromise())
                    case .dial(let dial):
                        isOwn = true
                        if let socket = try await self.dial(dial, place, handshake, offering, on: group) { return socket }
                        guard mayFallBack else { throw TransportError(noWebSocketsOverHTTP2At: options.url) }
                        HTTP2Pool.shared.fallBack(at: place)
                    }
                } catch {
                    if mayFallBack, (error.underlying as? HTTP2StreamEnd)?.wantsHTTP1 == true {
                        HTTP2Pool.shared.fallBack(at: place)
                    } else if isOwn || !error.isOfStaleLink {
                        throw error
                    }
                }
            }
        }

        /// Opens a connection, and the WebSocket on it; returns nil if the server supports no WebSockets over HTTP/2.
        private static func dial(
            _ dial: EventLoopPromise<Void>, _ place: HTTP2Place, _ handshake: ClientHandshake, _ options: ClientOptions,
            on group: any EventLoopGroup
        ) async throws(TransportError) -> WebSocketChannel? {
            let (dialed, opened) = (group.next().makePromise(of: Dialed.self), group.next().makePromise(of: WebSocketChannel.self))
            opened.futureResult.whenFailure { dialed.fail($0) }
            dialed.futureResult.whenFailure { opened.fail($0) }
            do throws(TransportError) {
                try open(options, on: group, for: dialed) {
                    HTTPVersionGate(handshake, options, place, dialed: dialed, opened: opened)
                }
                let outcome = try await result(of: dialed.futureResult, else: options) { dialed.fail($0) }
                if case .http1 = outcome { HTTP2Pool.shared.fallBack(at: place) }
                HTTP2Pool.shared.endDial(to: place, dial)
                switch outcome {
                case .link(let link): return try await openStream(of: link, handshake, options, opened)
                case .http1: return try await result(of: opened.futureResult, else: options) { opened.fail($0) }
                case .noWebSockets:
                    opened.fail(TransportError(noWebSocketsOverHTTP2At: options.url))
                    return nil
                }
            } catch {
                opened.fail(error)
                // If this attempt was only cancelled, the waiting tasks continue.
                HTTP2Pool.shared.endDial(to: place, dial, error.code == .cancelled ? nil : error)
                throw error
            }
        }

        private static func openStream(
            of link: HTTP2Link, _ handshake: ClientHandshake, _ options: ClientOptions, _ opened: EventLoopPromise<WebSocketChannel>
        ) async throws(TransportError) -> WebSocketChannel {
            // Checked before a stream is opened, because others use the connection: a cancelled attempt should send nothing on it.
            guard !Task.isCancelled else {
                HTTP2Pool.shared.leave(link)
                let error = TransportError(cancelledAt: options.url)
                opened.fail(error)
                throw error
            }
            link.open(handshake, options, opened)
            do throws(TransportError) {
                let socket = try await result(of: opened.futureResult, else: options) { opened.fail($0) }
                socket.whenLost { HTTP2Pool.shared.retire(link.channel) }
                return socket
            } catch {
                // The connection may be dead: the next attempt should not use it.
                if [.timedOut, .lost].contains(error.code) { HTTP2Pool.shared.retire(link.channel) }
                throw error
            }
        }

        /// Waits for a connection that another task opens, at most as long as our own could take: the other task may have longer timeouts.
        private static func wait(for dial: EventLoopFuture<Void>, _ options: ClientOptions) async throws(TransportError) {
            // The proxy, TLS and the HTTP/2 settings each have the timeout of a handshake.
            let (url, limit) = (options.url, options.connectTimeout + options.handshakeTimeout * 3)
            let inTime = dial.eventLoop.makePromise(of: Void.self)
            let alarm = dial.eventLoop.scheduleTask(in: TimeAmount(limit)) {
                inTime.fail(TransportError(.timedOut, "the HTTP/2 connection that \(url) was to share was not established within \(limit)"))
            }
            dial.cascade(to: inTime)
            defer { alarm.cancel() }
            try await result(of: inTime.futureResult, else: options)
        }
    }

    extension ClientOptions {
        fileprivate var onHTTP1: ClientOptions {
            var options = self
            options.httpVersion = .http1
            return options
        }
    }

    extension TransportError {
        fileprivate init(noWebSocketsOverHTTP2At url: WebSocketURL) {
            self.init(
                .invalidHandshake, "\(url) opens no WebSockets over HTTP/2: its settings do not say so (RFC 8441); use HTTP/1.1")
        }

        /// Whether an existing connection was gone, or is about to be, so that a new one may succeed.
        fileprivate var isOfStaleLink: Bool {
            guard code == .lost else { return false }
            return (underlying as? HTTP2StreamEnd)?.isUnprocessed ?? true
        }
    }
#endif
