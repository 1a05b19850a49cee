import NIOCore
package import NIOPosix
import WebSocketCore
package import WebSocketRuntime

extension NIOConnector {
    /// Opens TCP, through the proxy if there is one, and TLS for a secure URL; nothing is sent after that.
    ///
    /// With `isUnverified` any chain is taken, to look at it: who answers may be anybody. Cancellation ends the attempt at once. The
    /// system's own TLS would not tell what was agreed on, so it is always NIOSSL that does it.
    package static func bytes(
        _ options: ClientOptions, isUnverified: Bool = false, on group: MultiThreadedEventLoopGroup = .singleton
    ) async throws(TransportError) -> ByteLink {
        let loop = group.next()
        if !options.url.isSecure { try options.tls.checkPlain(host: options.url.host) }
        let opened = loop.makePromise(of: ByteLink.self)
        try open(options, on: loop, isInspection: isUnverified, for: opened) { ByteLinkHandler(options, opened: opened) }
        return try await result(of: opened.futureResult, else: options) { opened.fail($0) }
    }
}
