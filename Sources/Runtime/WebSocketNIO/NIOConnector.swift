package import NIOCore
import WebSocketCore
package import WebSocketRuntime

#if !SwiftNIO
    #error("servers and connections over SwiftNIO need its trait, which is a default: .package(url: \"…\", traits: [.defaults])")
#endif

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
        // Or a connection on the same machine might stand before the cancellation is seen.
        guard !Task.isCancelled else { throw TransportError(cancelledAt: options.url) }
        #if HTTP2
            if options.httpVersion == .http2 || (options.httpVersion == .automatic && options.url.isSecure) {
                return try await connectOverHTTP2(handshake, options, on: group)
            }
        #else
            if options.httpVersion == .http2 {
                throw TransportError(.invalidConfiguration, "Holdfast was built without its trait HTTP2")
            }
        #endif
        let trust = try systemTrust(options, on: group)
        let opened = group.next().makePromise(of: WebSocketChannel.self)
        try open(options, on: group, trust: trust, for: opened) { ClientHandshakeHandler(handshake, options: options, opened: opened) }
        return try await result(of: opened.futureResult, else: options) { opened.fail($0) }
    }
}
