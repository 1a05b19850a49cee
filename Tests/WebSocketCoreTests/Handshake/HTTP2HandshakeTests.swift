import Testing
import WebSocketCore

/// RFC 8441.
@Suite struct HTTP2HandshakeTests {
    private func client(
        _ url: String = "wss://example.com/chat?room=1", subprotocols: [String] = [], headers: HeaderFields = [:],
        deflate: DeflatePreferences? = nil
    ) throws -> ClientHandshake {
        var random = HandshakeSeed(state: 1)
        return try ClientHandshake(
            url: try WebSocketURL(url), subprotocols: subprotocols, deflate: deflate, headers: headers, using: &random)
    }

    /// The request of RFC 8441 §5.1.
    private let fields: HeaderFields = [
        ":method": "CONNECT", ":protocol": "websocket", ":scheme": "https", ":path": "/chat", ":authority": "server.example.com",
        "sec-websocket-protocol": "chat, superchat", "sec-websocket-extensions": "permessage-deflate", "sec-websocket-version": "13",
        "origin": "http://www.example.com",
    ]

    private func with(_ name: String, _ value: String?) -> HeaderFields {
        var fields = fields
        fields[name] = value
        return fields
    }

    private func failure(_ fields: HeaderFields) -> HandshakeFailure.Kind? {
        HandshakeFixtures.failure { _ = try ServerHandshake(try RequestHead(http2: fields)) }?.kind
    }

    @Test func `a client sends an extended CONNECT without a WebSocket key`() throws {
        let request = try client(subprotocols: ["chat", "superchat"], headers: ["Origin": "https://example.com"])
            .extendedConnect(isSecure: true)
        #expect(
            Array(request) == [
                HeaderField(name: ":method", value: "CONNECT"), HeaderField(name: ":protocol", value: "websocket"),
                HeaderField(name: ":scheme", value: "https"), HeaderField(name: ":authority", value: "example.com"),
                HeaderField(name: ":path", value: "/chat?room=1"), HeaderField(name: "sec-websocket-version", value: "13"),
                HeaderField(name: "sec-websocket-protocol", value: "chat, superchat"),
                HeaderField(name: "origin", value: "https://example.com"),
            ])
    }

    @Test func `the scheme comes from the URL, and a given Host becomes the authority`() throws {
        let request = try client("ws://127.0.0.1:8080", headers: ["Host": "example.org"]).extendedConnect(isSecure: false)
        #expect(request[":scheme"] == "http" && request[":authority"] == "example.org" && request[":path"] == "/")
        #expect(request["host"] == nil)
    }

    @Test func `connection-specific fields of HTTP 1 are left out`() throws {
        let headers: HeaderFields = ["Keep-Alive": "5", "Proxy-Connection": "close", "TE": "gzip", "X-Mine": "1"]
        let request = try client(headers: headers).extendedConnect(isSecure: true)
        #expect(request.filter { !$0.name.hasPrefix(":") }.map(\.name) == ["sec-websocket-version", "x-mine"])
    }

    @Test(arguments: [200, 201, 204, 299])
    func `any 2xx status opens the WebSocket`(status: Int) throws {
        let response = try ResponseHead(http2: [":status": "\(status)", "sec-websocket-protocol": "chat"])
        #expect(try client(subprotocols: ["chat"]).checkTunnel(response).subprotocol == "chat")
        #expect(response.majorVersion == 2)
    }

    @Test(arguments: [300, 302, 401, 404, 426, 503])
    func `any other status refuses the WebSocket`(status: Int) throws {
        let response = try ResponseHead(http2: [":status": "\(status)", "retry-after": "5"])
        #expect(HandshakeFixtures.failure { _ = try client().checkTunnel(response) }?.kind == .refused)
        #expect(response.headers["Retry-After"] == "5")
    }

    @Test func `a response that was not offered is refused`() throws {
        let cases: [(HeaderFields, HandshakeFailure.Kind)] = [
            ([":status": "101"], .invalidUpgrade), ([":status": "200", "sec-websocket-protocol": "other"], .invalidSubprotocol),
            ([":status": "200", "sec-websocket-extensions": "permessage-deflate"], .invalidExtension),
        ]
        for (fields, kind) in cases {
            let response = try ResponseHead(http2: fields)
            #expect(HandshakeFixtures.failure { _ = try client(subprotocols: ["chat"]).checkTunnel(response) }?.kind == kind)
        }
    }

    @Test(arguments: [[:], [":status": "20"], [":status": "2000"], [":status": "+20"], [":status": "099"]] as [HeaderFields])
    func `a response without a valid status is malformed`(fields: HeaderFields) {
        #expect(HandshakeFixtures.failure { _ = try ResponseHead(http2: fields) }?.kind == .malformedHead)
    }

    @Test func `the request of RFC 8441 §5 1 is accepted`() throws {
        let handshake = try ServerHandshake(try RequestHead(http2: fields))
        #expect(handshake.request.headers["Host"] == "server.example.com" && handshake.request.target == "/chat")
        #expect(handshake.request.majorVersion == 2 && handshake.offeredSubprotocols == ["chat", "superchat"])
        let agreement = try handshake.accept(subprotocol: "chat", headers: ["X-Mine": "1"])
        #expect(
            Array(try agreement.response.http2Fields()) == [
                HeaderField(name: ":status", value: "200"), HeaderField(name: "sec-websocket-protocol", value: "chat"),
                HeaderField(name: "x-mine", value: "1"),
            ])
    }

    @Test func `client and server agree over HTTP 2 as over HTTP 1`() throws {
        let handshake = try client(subprotocols: ["chat"], deflate: DeflatePreferences())
        let server = try ServerHandshake(try RequestHead(http2: handshake.extendedConnect(isSecure: true)))
        let answer = try server.accept(subprotocol: "chat", deflate: DeflatePreferences())
        let agreement = try handshake.checkTunnel(try ResponseHead(http2: try answer.response.http2Fields()))
        #expect(agreement.subprotocol == "chat" && agreement.deflate != nil && agreement.deflate == answer.deflate)
    }

    @Test func `the protocol's name is case-insensitive`() {
        #expect(failure(with(":protocol", "WebSocket")) == nil)
    }

    @Test func `plain requests are distinguished, and other protocols are refused`() {
        #expect(failure(with(":method", "GET")) == .notAnUpgrade)
        #expect(failure(with(":protocol", nil)) == .notAnUpgrade)
        #expect(failure([":method": "GET", ":scheme": "https", ":path": "/"]) == .notAnUpgrade)
        #expect(failure(with(":protocol", "connect-udp")) == .unsupportedProtocol)
        #expect(HandshakeFailure(.unsupportedProtocol, "").refusal?.status == 501)
    }

    @Test func `an invalid request is refused`() {
        #expect(failure(with("sec-websocket-version", "12")) == .unsupportedVersion)
        #expect(failure(with(":authority", nil)) == .invalidRequest)
        #expect(failure(with("content-length", "5")) == .invalidRequest)
        #expect(failure(with("sec-websocket-protocol", "a b")) == .invalidRequest)
        #expect(failure(with(":path", "")) == .malformedHead)
        #expect(failure(with(":method", nil)) == .malformedHead)
        var twice = fields
        twice.add(":path", "/other")
        #expect(failure(twice) == .malformedHead)
    }

    @Test func `the authority takes precedence over a Host field`() throws {
        #expect(try RequestHead(http2: with("host", "evil.example")).headers.values("Host") == ["server.example.com"])
        var without = with(":authority", nil)
        without.add("host", "a.example")
        #expect(try RequestHead(http2: without).headers["Host"] == "a.example")
    }

    @Test func `a response is written without the fields that HTTP 2 forbids`() throws {
        let response = ResponseHead(
            status: 426, headers: ["Connection": "Upgrade, X-Hop", "Upgrade": "websocket", "X-Hop": "1", "Sec-WebSocket-Version": "13"])
        #expect(
            Array(try response.http2Fields()) == [
                HeaderField(name: ":status", value: "400"), HeaderField(name: "sec-websocket-version", value: "13"),
            ])
        for wrong in [ResponseHead(status: 101), ResponseHead(status: 99), ResponseHead(status: 200, headers: ["X": "a\r\nb"])] {
            #expect(HandshakeFixtures.failure { _ = try wrong.http2Fields() }?.kind == .invalidHeader)
        }
    }
}
