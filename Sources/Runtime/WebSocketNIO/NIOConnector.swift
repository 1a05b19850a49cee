package import NIOCore
import WebSocketCore
package import WebSocketRuntime

/// Opens WebSockets over TCP and TLS.
package enum NIOConnector {
    /// Connects, shakes hands, and returns an open WebSocket.
    ///
    /// Cancellation ends the attempt at once; a connection that comes too late is dropped.
    package static func connect(
        _ options: ClientOptions, on group: any EventLoopGroup = defaultGroup
    ) async throws(TransportError) -> WebSocketChannel {
        let handshake: ClientHandshake
        do throws(HandshakeFailure) {
            var random = SystemRandomNumberGenerator()
            handshake = try ClientHandshake(
                url: options.url, subprotocols: options.subprotocols, deflate: options.connection.compression?.preferences,
                headers: options.headers, using: &random)
        } catch {
            throw TransportError(.invalidConfiguration, "\(error)", underlying: error)
        }
        try check(group)
        if !options.url.isSecure { try options.tls.checkPlain(host: options.url.host) }
        if options.httpVersion == .http2 || (options.httpVersion == .automatic && options.url.isSecure) {
            return try await connectOverHTTP2(handshake, options, on: group)
        }
        let trust = try systemTrust(options, on: group)
        let isOwnTLS = options.url.isSecure && trust == nil
        let tls = isOwnTLS ? try ClientTLS(options.tls, host: options.url.host, place: "\(options.url)") : nil
        let stage = try options.proxy.map { proxy throws(TransportError) in try ProxyStage(proxy, options) }
        let opened = group.next().makePromise(of: WebSocketChannel.self)
        open(options, on: group, trust: trust) { channel in
            channel.eventLoop.makeCompletedFuture {
                try stage?.add(to: channel.pipeline.syncOperations) { opened.fail($0) }
                try tls?.install(on: channel.pipeline.syncOperations)
                try channel.pipeline.syncOperations.addHandler(ClientHandshakeHandler(handshake, options: options, opened: opened))
            }
        }
        .whenComplete { result in
            switch result {
            // The attempt may have been given up meanwhile: then nobody waits for this channel.
            case .success(let channel): opened.futureResult.whenFailure { _ in channel.close(promise: nil) }
            case .failure(let error): opened.fail(stage?.failure(connecting: error) ?? TransportError(connecting: error, to: options.url))
            }
        }
        do {
            return try await withTaskCancellationHandler {
                try await opened.futureResult.get()
            } onCancel: {
                opened.fail(TransportError(.cancelled, "connecting to \(options.url) was cancelled"))
            }
        } catch {
            throw error as? TransportError ?? TransportError(.lost, "\(error)", underlying: error)
        }
    }
}
