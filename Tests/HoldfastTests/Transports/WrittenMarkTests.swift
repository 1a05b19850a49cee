import Holdfast
import WebSocketRuntime
import NIOCore
import NIOEmbedded
import Testing

/// What counts as written is what the channel has handed on, not what it holds.
@Suite struct WrittenMarkTests {
    private let dam = Dam()
    private let channel: EmbeddedChannel
    private let socket: WebSocketChannel

    init() throws {
        channel = EmbeddedChannel(handler: dam)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/mark")).wait()
        socket = try WebSocketChannel.install(
            on: channel, agreement: Agreement(response: ResponseHead(status: 101)), settings: ConnectionSettings(role: .server),
            position: .last, isPlain: false, inline: nil)
    }

    @Test func `what the channel holds is not written until the channel has handed it on`() throws {
        let answer = try askAboutAMessage()
        #expect(dam.heldBytes > 0 && answer.withLockedValue { $0 == nil })
        dam.open()
        channel.embeddedEventLoop.run()
        #expect(answer.withLockedValue { $0 == true })
    }

    @Test func `what the channel still held at its end is not written`() throws {
        let answer = try askAboutAMessage()
        socket.abort()
        channel.embeddedEventLoop.run()
        #expect(answer.withLockedValue { $0 == false })
    }

    private func askAboutAMessage() throws -> LockedValue<Bool?> {
        let answer = LockedValue<Bool?>(nil)
        #expect(try socket.offer(.text("held")))
        socket.whenWritten { isWritten in answer.withLockedValue { $0 = isWritten } }
        channel.embeddedEventLoop.run()
        return answer
    }
}

/// Holds what is written, as a socket does that takes nothing.
private final class Dam: ChannelOutboundHandler {
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
