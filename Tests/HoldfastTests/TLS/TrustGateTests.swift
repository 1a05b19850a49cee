import NIOCore
import NIOEmbedded
import NIOSSL
import NIOTLS
import Testing
import WebSocketRuntime

@testable import WebSocketNIO

/// The gate without a TLS server, so that there is no certificate.
@Suite struct TrustGateTests {
    private let channel: EmbeddedChannel

    init() { channel = EmbeddedChannel() }

    /// Installs the gate and writes to it; with `isInspection` any server is accepted.
    private func write(_ text: String, isInspection: Bool) throws -> EventLoopFuture<Void> {
        let trust = TrustContext(options: TLSOptions(), host: "a.example", place: "wss://a.example/", isInspection: isInspection)
        let tls = try NIOSSLClientHandler(
            context: NIOSSLContext(configuration: .makeClientConfiguration()), serverHostname: trust.serverName)
        try channel.pipeline.syncOperations.addHandler(TrustGate(trust, watch: ChainWatch(takesAny: isInspection), tls: tls))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel.writeAndFlush(ByteBuffer(string: text))
    }

    private func completeHandshake() {
        channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
    }

    @Test func `data waits until the server is trusted`() throws {
        let written = try write("GET", isInspection: true)
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        completeHandshake()
        #expect(try channel.readOutbound() == ByteBuffer(string: "GET"))
        try written.wait()
        try channel.writeOutbound(ByteBuffer(string: "more"))
        #expect(try channel.readOutbound() == ByteBuffer(string: "more"))
    }

    @Test func `data for an untrusted server is never sent, and its write fails with the reason`() throws {
        let written = try write("GET", isInspection: false)
        completeHandshake()
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        #expect(!channel.isActive)
        for wait in [{ try channel.throwIfErrorCaught() }, { try written.wait() }] {
            #expect((#expect(throws: TransportError.self, performing: wait))?.code == .wrongHost)
        }
    }

    @Test func `waiting data fails when the server closes`() throws {
        let written = try write("GET", isInspection: true)
        channel.pipeline.fireChannelInactive()
        #expect(throws: ChannelError.ioOnClosedChannel) { try written.wait() }
    }
}
