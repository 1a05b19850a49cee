import Testing

@testable import WebSocketCore

/// A certificate built byte by byte, so that each field is known.
struct TrustFixture {
    var subject = "api.example.com"
    var issuer = "Test authority"
    var key: [UInt8] = [1, 2, 3]
    var notBefore = "260101000000Z"
    var notAfter = "271231235959Z"
    var names = ["api.example.com", "*.example.net"]
    var addresses: [[UInt8]] = [[127, 0, 0, 1]]

    static func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length: [UInt8] =
            content.count < 0x80
            ? [UInt8(content.count)] : [0x82, UInt8(content.count >> 8), UInt8(truncatingIfNeeded: content.count)]
        return [tag] + length + content
    }

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { der(0x30, parts.flatMap { $0 }) }

    private func name(_ text: String, _ kind: UInt8 = 0x03) -> [UInt8] {
        Self.sequence(Self.der(0x31, Self.sequence(Self.der(0x06, [0x55, 0x04, kind]), Self.der(0x0C, Array(text.utf8)))))
    }

    var publicKeyInfo: [UInt8] { Self.sequence(Self.sequence(Self.der(0x06, [0x2A, 0x03])), Self.der(0x03, [0] + key)) }

    var der: [UInt8] {
        let alternatives = Self.der(
            0x30, names.flatMap { Self.der(0x82, Array($0.utf8)) } + addresses.flatMap { Self.der(0x87, $0) })
        let usage = Self.sequence(Self.der(0x06, [0x55, 0x1D, 0x0F]), Self.der(0x01, [0xFF]), Self.der(0x04, [0x03, 0x02, 0x07, 0x80]))
        let named = Self.sequence(Self.der(0x06, [0x55, 0x1D, 0x11]), Self.der(0x04, alternatives))
        let fields = Self.sequence(
            Self.der(0xA0, Self.der(0x02, [2])), Self.der(0x02, [7]), Self.sequence(Self.der(0x06, [0x2A])), name(issuer),
            Self.sequence(time(notBefore), time(notAfter)), name(subject), publicKeyInfo, Self.der(0xA3, Self.sequence(usage, named)))
        return Self.sequence(fields, Self.sequence(Self.der(0x06, [0x2A])), Self.der(0x03, [0, 9, 9]))
    }

    private func time(_ text: String) -> [UInt8] { Self.der(text.count == 13 ? 0x17 : 0x18, Array(text.utf8)) }

    func certificate() throws -> ServerCertificate { try #require(ServerCertificate(der: der)) }
}
