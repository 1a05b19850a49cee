import NIOCore
import NIOWebSocket

/// Sends frames back, fragments as fragments, with one flush per read burst.
final class EchoHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text, .binary, .continuation:
            write(WebSocketFrame(fin: frame.fin, opcode: frame.opcode, data: frame.unmaskedData), context)
        case .ping:
            write(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData), context)
        case .connectionClose:
            write(WebSocketFrame(fin: true, opcode: .connectionClose, data: frame.unmaskedData), context)
            context.flush()
            context.close(promise: nil)
        default:
            break
        }
    }

    private func write(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(frame), promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
