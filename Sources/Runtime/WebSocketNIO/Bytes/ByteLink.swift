import NIOCore
package import WebSocketCore
package import WebSocketRuntime

/// The bytes of one TCP connection, behind proxy and TLS: for whoever looks at a server more closely than a WebSocket does.
///
/// It reads only while somebody waits for bytes, so that a flood cannot fill the memory.
package struct ByteLink: Sendable {
    /// What came of waiting.
    package enum Arrival: Sendable {
        /// Some bytes, at least one.
        case bytes([UInt8])
        /// The link has ended; nil: as TCP ends when a peer closes it.
        case end(TransportError?)
        /// Nothing, within the time.
        case nothing
    }

    /// What TLS agreed on.
    package struct Security: Sendable {
        /// The chain, the server's own certificate first.
        package let chain: [ServerCertificate]
        /// Such as `1.3`; nil: not known.
        package let version: String?
        /// What ALPN chose.
        package let applicationProtocol: String?
    }

    /// What the socket is connected to: the server or the proxy.
    package let remote: String
    /// How long it took until TCP, and the proxy if there is one, were ready; the lookup of the name included.
    package let connected: Duration
    /// How long TLS took after that.
    package let secured: Duration?
    /// What TLS agreed on; nil without TLS.
    package let security: Security?

    let channel: any Channel
    let handler: NIOLoopBound<ByteLinkHandler>

    /// Waits for bytes, at most so long; one waits at a time.
    ///
    /// If the task is cancelled the link is dropped.
    package func next(within limit: Duration) async -> Arrival {
        let arrived = channel.eventLoop.makePromise(of: Arrival.self)
        return await withTaskCancellationHandler {
            channel.eventLoop.execute { handler.value.wait(limit, arrived) }
            return (try? await arrived.futureResult.get()) ?? .nothing
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Hands bytes to the socket, and does not wait until it has taken them: that they could not be sent shows as the link's end.
    package func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    /// Ends the link.
    package func close() { channel.close(promise: nil) }
}
