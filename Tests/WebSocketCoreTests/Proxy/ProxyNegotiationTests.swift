import Testing
import WebSocketCore

@Suite struct ProxyNegotiationTests {
    /// The result of a negotiation: the bytes sent, whether the tunnel is open, and the bytes that belong to the server.
    struct ProxyTalk: Hashable, Sendable {
        var sent: [[UInt8]] = []
        var isOpen = false
        var failure: ProxyFailure.Kind?
        var rest: [UInt8] = []
    }

    /// Feeds these bytes to a negotiation in pieces of this size.
    private func talk(_ proxy: String, host: String = "h", port: Int = 443, _ bytes: [UInt8], by size: Int) throws -> ProxyTalk {
        var negotiation = try ProxyNegotiation(through: Proxy(proxy), to: host, port: port, headLimit: 256)
        var talk = ProxyTalk(sent: [negotiation.opening])
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(piece.count)
            var used = 0
            while used < piece.count {
                let (result, count) = piece[used...].withUnsafeBytes { bytes in
                    var left = bytes
                    let result = Result { () throws(ProxyFailure) in try negotiation.receive(&left) }
                    return (result, bytes.count - left.count)
                }
                used += count
                switch result {
                case .success(.more): #expect(used == piece.count)
                case .success(.send(let bytes)): talk.sent.append(bytes)
                case .success(.established):
                    talk.isOpen = true
                    talk.rest = Array(piece[used...] + rest)
                    return talk
                case .failure(let failure):
                    talk.failure = failure.kind
                    return talk
                }
            }
        }
        return talk
    }

    @Test(arguments: 1...80)
    func `CONNECT opens the tunnel, and the bytes after the response belong to the server`(size: Int) throws {
        let answer = Array("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 Connection established\r\nVia: x\r\n\r\nhello".utf8)
        let talk = try talk("http://h:1", host: "::1", port: 80, answer, by: size)
        #expect(String(decoding: talk.sent[0], as: UTF8.self) == "CONNECT [::1]:80 HTTP/1.1\r\nHost: [::1]:80\r\n\r\n")
        #expect(talk.isOpen)
        #expect(talk.rest == Array("hello".utf8))
    }

    @Test func `a login is sent as Basic`() throws {
        let talk = try talk("https://Aladdin:open%20sesame@h", host: "example.com", [], by: 1)
        let lines = String(decoding: talk.sent[0], as: UTF8.self).split(separator: "\r\n")
        #expect(
            lines == [
                "CONNECT example.com:443 HTTP/1.1", "Host: example.com:443", "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            ])
    }

    @Test(
        arguments: [
            ("HTTP/1.1 204 x\r\n\r\n", nil), ("HTTP/1.1 407 x\r\n\r\n", .loginNeeded), ("HTTP/1.1 403 x\r\n\r\n", .forbidden),
            ("HTTP/1.1 302 x\r\n\r\n", .forbidden), ("HTTP/1.1 101 x\r\n\r\n", .forbidden), ("HTTP/1.1 500 x\r\n\r\n", .serverUnreachable),
            ("HTTP/1.1 502 x\r\n\r\n", .serverUnreachable), ("HTTP/1.1 504 x\r\n\r\n", .serverUnreachable),
            ("HTTP/1.1 429 x\r\n\r\n", .serverUnreachable), ("HTTP/1.1 408 x\r\n\r\n", .serverUnreachable), ("SSH-2.0-x\r\n", .malformed),
            ("HTTP/1.1 200 \(String(repeating: "x", count: 300))", .malformed),
        ] as [(String, ProxyFailure.Kind?)])
    func `each other response to CONNECT has its kind of failure`(answer: String, kind: ProxyFailure.Kind?) throws {
        let talk = try talk("http://h:1", Array(answer.utf8), by: 7)
        #expect(talk.isOpen == (kind == nil))
        #expect(talk.failure == kind)
    }

    private static let open: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0x1F, 0x90]

    @Test(arguments: 1...30)
    func `SOCKS opens the tunnel, and the bytes after the reply belong to the server`(size: Int) throws {
        for address in [[1, 0, 0, 0, 0], [4] + [UInt8](repeating: 9, count: 16), [3, 2, 0x68, 0x69], [3, 0]] as [[UInt8]] {
            let talk = try talk("socks5://p", host: "example.com", port: 0x1234, [5, 0, 5, 0, 0] + address + [0, 80] + [5, 7], by: size)
            #expect(talk.sent == [[5, 1, 0], [5, 1, 0, 3, 11] + Array("example.com".utf8) + [0x12, 0x34]])
            #expect(talk.isOpen)
            #expect(talk.rest == [5, 7])
        }
    }

    @Test(arguments: 1...8)
    func `a SOCKS proxy gets user name and password only if it asks for them`(size: Int) throws {
        let asked = try talk("socks5://me:pw@p", host: "10.0.0.1", port: 80, [5, 2, 1, 0] + Self.open, by: size)
        #expect(asked.sent == [[5, 2, 0, 2], [1, 2, 0x6D, 0x65, 2, 0x70, 0x77], [5, 1, 0, 1, 10, 0, 0, 1, 0, 80]])
        #expect(asked.isOpen)
        let unasked = try talk("socks5://me:pw@p", host: "::2", port: 80, [5, 0] + Self.open, by: size)
        #expect(unasked.sent == [[5, 2, 0, 2], [5, 1, 0, 4] + [UInt8](repeating: 0, count: 15) + [2, 0, 80]])
        #expect(unasked.isOpen)
    }

    @Test(
        arguments: [
            ([5, 0xFF], .loginNeeded), ([5, 2], .malformed), ([5, 1], .malformed), ([4, 0], .malformed), ([0x48, 0x54], .malformed),
            ([5, 0, 5, 1, 0, 1, 0], .serverUnreachable), ([5, 0, 5, 2, 0, 1, 0], .forbidden), ([5, 0, 5, 3, 0, 1, 0], .serverUnreachable),
            ([5, 0, 5, 4, 0, 1, 0], .serverUnreachable), ([5, 0, 5, 5, 0, 1, 0], .serverUnreachable),
            ([5, 0, 5, 6, 0, 1, 0], .serverUnreachable), ([5, 0, 5, 7, 0, 1, 0], .forbidden), ([5, 0, 5, 99, 0, 1, 0], .forbidden),
            ([5, 0, 1, 0], .malformed), ([5, 0, 5, 0, 0, 2, 0], .malformed), ([5, 0, 5, 0, 0, 0, 0], .malformed),
        ] as [([UInt8], ProxyFailure.Kind)])
    func `each other reply of SOCKS has its kind of failure`(bytes: [UInt8], kind: ProxyFailure.Kind) throws {
        let talk = try talk("socks5://p", bytes + [0, 0, 0, 0, 0], by: 1)
        #expect(!talk.isOpen)
        #expect(talk.failure == kind)
    }

    @Test func `a refused password and an unsupported authentication method are failures`() throws {
        #expect(try talk("socks5://a:b@p", [5, 2, 1, 1], by: 1).failure == .loginNeeded)
        #expect(try talk("socks5://a:b@p", [5, 2, 1, 0xFF], by: 1).failure == .loginNeeded)
        #expect(try talk("socks5://a:b@p", [5, 2, 5, 0], by: 1).failure == .malformed)
        #expect(try talk("socks5://a:b@p", [5, 0xFF], by: 1).failure == .loginNeeded)
    }

    @Test func `a host name that is too long for SOCKS is refused before anything is sent`() throws {
        let long = Array(repeating: String(repeating: "a", count: 63), count: 5).joined(separator: ".")
        let failure = #expect(throws: ProxyFailure.self) { try ProxyNegotiation(through: Proxy("socks5://p"), to: long, port: 1) }
        #expect(failure?.kind == .malformed)
    }
}
