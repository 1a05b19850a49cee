import ScriptedPeers

/// Frames of HTTP/2 as bytes (RFC 9113 §6).
enum HTTP2Wire {
    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, push, ping, goAway, windowUpdate
    }

    static let preface = 24

    static func frame(_ kind: Kind, flags: UInt8 = 0, stream: Int = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let place = [0, 0, UInt8(stream >> 8), UInt8(stream & 255)]
        return [0, UInt8(payload.count >> 8), UInt8(payload.count & 255), kind.rawValue, flags] + place + payload
    }

    /// Settings with SETTINGS_ENABLE_CONNECT_PROTOCOL.
    static let settings = frame(.settings, [0, 8, 0, 0, 0, 1])
    static let settingsWithoutWebSockets = frame(.settings)

    /// An answer with status 200 to a request whose stream stays open.
    static func accepted(stream: Int) -> [UInt8] { frame(.headers, flags: 4, stream: stream, [0x88]) }

    /// A request for a WebSocket, with literal fields (RFC 7541 §6.2.2) except `:scheme: http` and `:path: /`.
    static func request(stream: Int) -> [UInt8] {
        func literal(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
        let pseudo: [UInt8] = [0x02] + literal("CONNECT") + [0x86, 0x84, 0x01] + literal("server.example")
        let named: [UInt8] = [0] + literal(":protocol") + literal("websocket") + [0] + literal("sec-websocket-version") + literal("13")
        return frame(.headers, flags: 4, stream: stream, pseudo + named)
    }

    /// A DATA frame with WebSocket bytes.
    static func data(stream: Int, _ bytes: [UInt8], isEnd: Bool = false) -> [UInt8] {
        frame(.data, flags: isEnd ? 1 : 0, stream: stream, bytes)
    }

    static func reset(stream: Int, _ code: UInt8) -> [UInt8] { frame(.reset, stream: stream, [0, 0, 0, code]) }

    static func goAway(last: UInt8) -> [UInt8] { frame(.goAway, [0, 0, 0, last, 0, 0, 0, 0]) }
}

extension ScriptedPeer {
    /// Returns the payload of the next frame of this kind; skips other frames.
    func http2(_ kind: HTTP2Wire.Kind) async throws -> [UInt8] { try await http2(oneOf: [kind]).payload }

    /// Returns the next frame of one of these kinds; skips other frames.
    func http2(oneOf kinds: [HTTP2Wire.Kind]) async throws -> HTTP2WireFrame {
        while true {
            let head = try await read(9)
            let payload = try await read(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2]))
            guard let kind = HTTP2Wire.Kind(rawValue: head[3]), kinds.contains(kind) else { continue }
            return HTTP2WireFrame(kind: kind, isEnd: head[4] & 1 == 1, stream: Int(head[7]) << 8 | Int(head[8]), payload: payload)
        }
    }

    /// Reads the client's preface and sends the server's settings.
    func beginHTTP2(_ settings: [UInt8] = HTTP2Wire.settings) async throws {
        _ = try await read(HTTP2Wire.preface)
        try await send(settings)
    }
}

/// A frame that a scripted peer received.
struct HTTP2WireFrame {
    let kind: HTTP2Wire.Kind
    /// END_STREAM of HEADERS and DATA.
    let isEnd: Bool
    let stream: Int
    let payload: [UInt8]
}
