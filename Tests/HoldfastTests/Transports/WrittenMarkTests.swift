import Holdfast
import WebSocketRuntime
import NIOCore
import NIOEmbedded
import Testing

/// Bytes count as written when the channel has passed them on, not while it holds them.
@Suite struct WrittenMarkTests {
    private let gate = Gate()
    private let channel: EmbeddedChannel
    private let socket: WebSocketChannel

    init() throws {
        channel = EmbeddedChannel(handler: gate)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/mark")).wait()
        socket = try WebSocketChannel.install(
            on: channel, agreement: Agreement(response: ResponseHead(status: 101)), settings: ConnectionSettings(role: .server),
            position: .last, isPlain: false, inline: nil)
    }

    @Test func `bytes that the channel holds are not written until it passes them on`() throws {
        let answer = try sendHeldMessage()
        #expect(gate.heldBytes > 0 && answer.withLockedValue { $0 == nil })
        gate.open()
        channel.embeddedEventLoop.run()
        #expect(answer.withLockedValue { $0 == true })
    }

    @Test func `bytes that the channel still held at its end are not written`() throws {
        let answer = try sendHeldMessage()
        socket.abort()
        channel.embeddedEventLoop.run()
        #expect(answer.withLockedValue { $0 == false })
    }

    private func sendHeldMessage() throws -> LockedValue<Bool?> {
        let answer = LockedValue<Bool?>(nil)
        #expect(try socket.offer(.text("held")))
        socket.whenWritten { isWritten in answer.withLockedValue { $0 = isWritten } }
        channel.embeddedEventLoop.run()
        return answer
    }
}

/// Holds written bytes, like a socket whose peer does not read.
private final class Gate: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private var held: [(NIOAny, EventLoopPromise<Void>?)] = []
    private var context: ChannelHandlerContext?
    private(set) var heldBytes = 0

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        for (_, promise) in held { promise?.fail(ChannelError.ioOnClosedChannel) }
        held = []
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        heldBytes += unwrapOutboundIn(data).readableBytes
        held.append((data, promise))
    }

    func flush(context: ChannelHandlerContext) {}

    func open() {
        guard let context else { return }
        for (data, promise) in held { context.write(data, promise: promise) }
        held = []
        context.flush()
    }
}
