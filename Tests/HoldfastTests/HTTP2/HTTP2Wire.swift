import ScriptedPeers

/// Frames of HTTP/2, byte for byte (RFC 9113 §6).
enum HTTP2Wire {
    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, push, ping, goAway, windowUpdate
    }

    static let preface = 24

    static func frame(_ kind: Kind, flags: UInt8 = 0, stream: UInt8 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        [0, UInt8(payload.count >> 8), UInt8(payload.count & 255), kind.rawValue, flags, 0, 0, 0, stream] + payload
    }

    /// With SETTINGS_ENABLE_CONNECT_PROTOCOL.
    static let settings = frame(.settings, [0, 8, 0, 0, 0, 1])
    static let settingsWithoutWebSockets = frame(.settings)

    /// An answer with status 200, to a request whose stream stays open.
    static func accepted(stream: UInt8) -> [UInt8] { frame(.headers, flags: 4, stream: stream, [0x88]) }

    static func reset(stream: UInt8, _ code: UInt8) -> [UInt8] { frame(.reset, stream: stream, [0, 0, 0, code]) }

    static func goAway(last: UInt8) -> [UInt8] { frame(.goAway, [0, 0, 0, last, 0, 0, 0, 0]) }
}

extension ScriptedPeer {
    /// The payload of the next frame of this kind; what comes before is passed over.
    func http2(_ kind: HTTP2Wire.Kind) async throws -> [UInt8] {
        while true {
            let head = try await read(9)
            let payload = try await read(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2]))
            if head[3] == kind.rawValue { return payload }
        }
    }

    /// Takes the beginning of a connection, and says what the server can do.
    func beginHTTP2(_ settings: [UInt8] = HTTP2Wire.settings) async throws {
        _ = try await read(HTTP2Wire.preface)
        try await send(settings)
    }
}
