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
        let (url, loop) = (options.url, group.next())
        if !url.isSecure { try options.tls.checkPlain(host: url.host) }
        let tls = url.isSecure ? try ClientTLS(options.tls, host: url.host, place: "\(url)", isInspection: isUnverified) : nil
        let stage = try options.proxy.map { proxy throws(TransportError) in try ProxyStage(proxy, options) }
        let opened = loop.makePromise(of: ByteLink.self)
        open(options, on: loop) { channel in
            channel.eventLoop.makeCompletedFuture {
                try stage?.add(to: channel.pipeline.syncOperations) { opened.fail($0) }
                try tls?.install(on: channel.pipeline.syncOperations)
                try channel.pipeline.syncOperations.addHandler(ByteLinkHandler(options, opened: opened))
            }
        }
        .whenComplete { result in
            switch result {
            // The attempt may have been given up meanwhile: then nobody waits for this channel.
            case .success(let channel): opened.futureResult.whenFailure { _ in channel.close(promise: nil) }
            case .failure(let error): opened.fail(stage?.failure(connecting: error) ?? TransportError(connecting: error, to: url))
            }
        }
        do {
            return try await withTaskCancellationHandler {
                try await opened.futureResult.get()
            } onCancel: {
                opened.fail(TransportError(.cancelled, "connecting to \(url) was cancelled"))
            }
        } catch {
            throw error as? TransportError ?? TransportError(.lost, "\(error)", underlying: error)
        }
    }
}
