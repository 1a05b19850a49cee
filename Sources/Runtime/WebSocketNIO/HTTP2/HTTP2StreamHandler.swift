#if HTTP2
    import NIOCore
    import NIOHPACK
    import NIOHTTP2
    import WebSocketCore
    import WebSocketRuntime

    /// Presents one HTTP/2 stream to the next handlers as bytes that are read and written, with an end of each direction.
    ///
    /// A stream that is not read gives the peer no more flow-control credit, which stops only that stream. The ends follow RFC 8441 §5:
    /// END_STREAM ends a direction, and an abort resets the stream.
    final class HTTP2StreamHandler: ChannelDuplexHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias InboundOut = ByteBuffer
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = HTTP2Frame.FramePayload

        /// The fields of a HEADERS frame, received or to be sent.
        struct Head {
            let fields: HeaderFields
            /// Whether nothing follows the frame.
            var isEnd = false
        }

        /// Whether the stream is a tunnel: then the end of the input ends the whole stream, as with a socket.
        private(set) var isTunnel: Bool
        /// Completes when everything written before was sent.
        private var written: EventLoopFuture<Void>?
        private var isOutputOver = false
        private var isInputOver = false
        private var context: ChannelHandlerContext?

        init(isTunnel: Bool) { self.isTunnel = isTunnel }

        /// Turns the stream into a tunnel, after the request was accepted.
        func openTunnel() {
            isTunnel = true
            if isInputOver, let context { end(context) }
        }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .headers(let head):
                context.fireUserInboundEventTriggered(Head(fields: HeaderFields(head.headers), isEnd: head.endStream))
                if head.endStream { endInput(context) }
            case .data(let data):
                // The channel of a stream does not support file regions.
                if case .byteBuffer(let bytes) = data.data, bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
                if data.endStream { endInput(context) }
            default: break
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.fireErrorCaught(HTTP2StreamEnd(error) ?? error)
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            let bytes = unwrapOutboundIn(data)
            // An empty frame would be useless, and too many of them look like an attack.
            guard bytes.readableBytes > 0 else {
                (written ?? context.eventLoop.makeSucceededVoidFuture()).cascade(to: promise)
                return
            }
            let promise = promise ?? context.eventLoop.makePromise()
            written = promise.futureResult
            context.write(wrapOutboundOut(.data(.init(data: .byteBuffer(bytes)))), promise: promise)
        }

        func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
            guard let head = event as? Head else { return context.triggerUserOutboundEvent(event, promise: promise) }
            let payload = HTTP2Frame.FramePayload.headers(.init(headers: HPACKHeaders(head.fields), endStream: head.isEnd))
            if head.isEnd {
                writeLast(payload, context, promise)
            } else {
                context.writeAndFlush(wrapOutboundOut(payload), promise: promise)
            }
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            guard mode == .output else { return context.close(mode: mode, promise: promise) }
            guard !isOutputOver else { return promise?.succeed() ?? () }
            writeLast(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)), context, promise)
        }

        private func writeLast(_ payload: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
            isOutputOver = true
            // Anything that waits for the write would keep the stream alive long after its end, if the peer does not read.
            guard !isTunnel, !isInputOver else { return context.writeAndFlush(wrapOutboundOut(payload), promise: promise) }
            let promise = promise ?? context.eventLoop.makePromise()
            context.writeAndFlush(wrapOutboundOut(payload), promise: promise)
            // Tells a client that still sends a body that it is not wanted (RFC 9113 §8.1).
            promise.futureResult.assumeIsolated().whenSuccess { [self] in
                guard !isInputOver, context.channel.isActive else { return }
                context.writeAndFlush(wrapOutboundOut(.rstStream(.noError)), promise: nil)
            }
        }

        private func endInput(_ context: ChannelHandlerContext) {
            guard !isInputOver else { return }
            isInputOver = true
            if isTunnel { end(context) }
        }

        /// Ends this side too; data that is not sent by the end of this turn is dropped.
        private func end(_ context: ChannelHandlerContext) {
            close(context: context, mode: .output, promise: nil)
            let channel = context.channel
            context.eventLoop.execute { if channel.isActive { channel.close(promise: nil) } }
        }
    }

    /// The reason why the peer, or the connection, ended a stream.
    struct HTTP2StreamEnd: Error, CustomStringConvertible {
        let code: HTTP2ErrorCode

        /// Returns nil for any other error.
        init?(_ error: any Error) {
            guard let closed = error as? NIOHTTP2Errors.StreamClosed else { return nil }
            code = closed.errorCode
        }

        /// Whether the peer has not processed the request, so that it may be sent again (RFC 9113 §8.7).
        ///
        /// A stream that a GOAWAY does not include ends as cancelled, which opens no WebSocket either.
        var isUnprocessed: Bool { code == .refusedStream || code == .cancel }

        /// Whether the server requires HTTP/1.1.
        var wantsHTTP1: Bool { code == .http11Required }

        var description: String {
            let number = Int(code.networkCode)
            return "its HTTP/2 stream was reset (\(Self.names.indices.contains(number) ? Self.names[number] : "\(number)"))"
        }

        /// The names of the error codes, RFC 9113 §7.
        private static let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
            "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ]
    }

    extension HeaderFields {
        init(_ headers: HPACKHeaders) {
            self.init()
            for (name, value, _) in headers { add(name, value) }
        }
    }

    extension HPACKHeaders {
        init(_ fields: HeaderFields) {
            self.init()
            reserveCapacity(fields.count)
            // A credential is the app's secret: only fields that never contain one may stay in the compression table of a connection.
            for field in fields { add(name: field.name, value: field.value, indexing: field.isPublic ? .indexable : .neverIndexed) }
        }
    }

    extension HeaderField {
        fileprivate var isPublic: Bool {
            let known = ["sec-websocket-version", "sec-websocket-extensions", "user-agent", "origin"]
            return name.hasPrefix(":") ? name != ":path" : known.contains(name)
        }
    }

    extension ConnectionSettings {
        /// The flow-control window of a stream: as much as may wait for the app, and at least the standard's 65,535.
        var http2Window: Int { min(max(65_535, receiveBuffer), Int(Int32.max)) }
    }

    /// The settings that this side sends.
    extension HTTP2Settings {
        static func client(headLimit: Int) -> HTTP2Settings {
            [HTTP2Setting(parameter: .enablePush, value: 0), HTTP2Setting(parameter: .maxHeaderListSize, value: headLimit)]
        }

        static func server(_ options: HTTP2ServerOptions, headLimit: Int) -> HTTP2Settings {
            [
                HTTP2Setting(parameter: .maxConcurrentStreams, value: options.maximumStreams),
                HTTP2Setting(parameter: .maxHeaderListSize, value: headLimit),
                HTTP2Setting(parameter: .enableConnectProtocol, value: options.offersWebSockets ? 1 : 0),
            ]
        }

        func value(_ parameter: HTTP2SettingsParameter) -> Int? { last { $0.parameter == parameter }?.value }
    }

    extension NIOHTTP2Handler.ConnectionConfiguration {
        init(_ settings: HTTP2Settings) {
            self.init()
            initialSettings = settings
            // The windows of the streams are the limits: an unread stream must not stop the others.
            targetWindowSize = 1 << 24
            // Harmless, and some peers send a few; NIO's own limit treats the second in a row as an attack.
            maximumSequentialEmptyDataFrames = 16
            maximumBufferedControlFrames = 1000
        }
    }

    extension NIOHTTP2Handler.StreamConfiguration {
        init(window: Int) {
            self.init()
            targetWindowSize = window
            // As much as a socket buffers, see `WebSocketHandler.batchSize`.
            outboundBufferSizeHighWatermark = 64 * 1024
            outboundBufferSizeLowWatermark = 32 * 1024
            // Limits streams that are opened only to be reset ("rapid reset", CVE-2023-44487).
            streamResetFrameRateLimit.maximumCount = 200
        }
    }

    extension Error {
        /// Whether the error concerns only one stream; any other violation of HTTP/2 ends the connection.
        var isOfOneStream: Bool {
            switch self {
            case is NIOHTTP2Errors.StreamError, is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.NoSuchStream: true
            case is NIOHTTP2Errors.MissingPseudoHeader, is NIOHTTP2Errors.DuplicatePseudoHeader: true
            case is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader, is NIOHTTP2Errors.UnknownPseudoHeader: true
            case is NIOHTTP2Errors.UnsupportedPseudoHeader, is NIOHTTP2Errors.InvalidPseudoHeaders: true
            case is NIOHTTP2Errors.EmptyPathHeader, is NIOHTTP2Errors.InvalidPseudoHeaderValue: true
            case is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue: true
            case is NIOHTTP2Errors.ForbiddenHeaderField, is NIOHTTP2Errors.ContentLengthViolated: true
            default: false
            }
        }
    }
#endif
