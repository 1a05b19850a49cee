import NIOCore
import NIOHTTP2
import WebSocketRuntime

/// Ends a client's HTTP/2 connection: when it is idle, when the server ends, and when the client breaks a rule.
///
/// SAFETY: used on the event loop only.
final class HTTP2ServerHandler: ChannelInboundHandler, Alarmed, @unchecked Sendable {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let idleTimeout: Duration
    private let firstRequest: NIODeadline
    private let local: LoopLocal
    private var context: ChannelHandlerContext?
    private var streams = 0
    private var isEnding = false
    var alarmIndex: Int?

    /// - Parameter firstRequest: Until when the first stream has to be there.
    init(_ options: HTTP2ServerOptions, firstRequest: NIODeadline, on local: LoopLocal) {
        (idleTimeout, self.firstRequest, self.local) = (options.idleTimeout, firstRequest, local)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        local.setAlarm(self, at: firstRequest)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        local.removeAlarm(self)
        self.context = nil
    }

    func alarmRang() { end() }

    /// A stream was opened.
    func began(_ stream: any Channel) {
        streams += 1
        local.removeAlarm(self)
        stream.closeFuture.assumeIsolated().whenComplete { [self] _ in
            streams -= 1
            guard streams == 0, context != nil else { return }
            if isEnding { end() } else { local.setAlarm(self, at: .now() + TimeAmount(idleTimeout)) }
        }
    }

    /// Frames of the connection as a whole: HTTP/2 itself has dealt with them.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent, !isEnding else { return }
        isEnding = true
        if streams == 0 { end() } else { sayGoodbye() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !error.isOfOneStream { context.close(promise: nil) }
    }

    private func end() {
        if !isEnding { sayGoodbye() }
        isEnding = true
        context?.close(promise: nil)
    }

    /// No more streams, please.
    private func sayGoodbye() {
        let goAway = HTTP2Frame(streamID: .rootStream, payload: .goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil))
        context?.writeAndFlush(wrapOutboundOut(goAway), promise: nil)
    }
}
