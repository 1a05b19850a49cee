#if HTTP2
    import NIOCore
    import NIOHTTP2
    import WebSocketRuntime

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
