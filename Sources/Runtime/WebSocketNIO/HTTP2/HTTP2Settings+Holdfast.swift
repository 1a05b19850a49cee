#if HTTP2
    import NIOCore
    import NIOHTTP2
    import WebSocketRuntime

    extension ConnectionSettings {
        /// What a stream that nobody reads may have on its way to us: as much as may wait for the app, and no less than the standard's 65,535.
        var http2Window: Int { min(max(65_535, receiveBuffer), Int(Int32.max)) }
    }

    /// What we tell the peer.
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
            // The streams' own windows are the limits: one that is not read must not stop the others.
            targetWindowSize = 1 << 24
            // Harmless, and some peers send a few; NIO's own limit takes the second in a row for an attack.
            maximumSequentialEmptyDataFrames = 16
            maximumBufferedControlFrames = 1000
        }
    }

    extension NIOHTTP2Handler.StreamConfiguration {
        init(window: Int) {
            self.init()
            targetWindowSize = window
            // As much as a socket holds, see `WebSocketHandler.batchSize`.
            outboundBufferSizeHighWatermark = 64 * 1024
            outboundBufferSizeLowWatermark = 32 * 1024
            // Streams that are opened to be reset ("rapid reset", CVE-2023-44487).
            streamResetFrameRateLimit.maximumCount = 200
        }
    }

    extension Error {
        /// Whether it concerns one stream only: whatever else breaks a rule of HTTP/2 ends the connection.
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
