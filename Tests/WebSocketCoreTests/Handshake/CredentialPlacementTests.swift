import Testing
import WebSocketCore

@Suite struct CredentialPlacementTests {
    private func placed(
        _ placement: CredentialPlacement, _ secret: String, url: String = "wss://example.com/feed", headers: HeaderFields = [:]
    ) throws -> (url: String, headers: HeaderFields, subprotocols: [String]) {
        var (url, headers, subprotocols) = (url, headers, ["chat"])
        try placement.place(secret, url: &url, headers: &headers, subprotocols: &subprotocols)
        return (url, headers, subprotocols)
    }

    @Test func `a bearer token replaces an existing Authorization field`() throws {
        let request = try placed(.bearer, "abc.def-_~+/=", headers: ["authorization": "Basic old", "X-A": "1"])
        #expect(request.headers.values("Authorization") == ["Bearer abc.def-_~+/="])
        #expect(request.headers["X-A"] == "1" && request.url == "wss://example.com/feed" && request.subprotocols == ["chat"])
    }

    @Test func `a custom header field contains only the secret`() throws {
        #expect(try placed(.header("X-Api-Key"), "k").headers["x-api-key"] == "k")
    }

    @Test(arguments: [
        ("wss://h/p", "wss://h/p?token=a%2Bb%26%C3%A9%20~"), ("wss://h/p?x=1", "wss://h/p?x=1&token=a%2Bb%26%C3%A9%20~"),
        ("wss://h", "wss://h?token=a%2Bb%26%C3%A9%20~"),
    ]) func `a query item is percent-encoded`(url: String, result: String) throws {
        let request = try placed(.query("token"), "a+b&é ~", url: url)
        #expect(request.url == result)
        #expect(try WebSocketURL(request.url).description.contains("token") == false)
    }

    @Test func `a cookie is added to the app's cookies`() throws {
        #expect(try placed(.cookie("sid"), "abc").headers["Cookie"] == "sid=abc")
        #expect(try placed(.cookie("sid"), "abc", headers: ["Cookie": "theme=dark"]).headers.values("Cookie") == ["theme=dark; sid=abc"])
    }

    @Test func `the subprotocol with the secret is offered first`() throws {
        #expect(try placed(.subprotocol(prefix: "bearer."), "abc").subprotocols == ["bearer.abc", "chat"])
    }

    @Test(arguments: [
        (CredentialPlacement.bearer, "top\r\nX-Evil: 1"), (.bearer, ""), (.header("X"), "top secret"), (.cookie("s"), "top;path=/"),
        (.cookie("s"), "\"top\""), (.cookie("s"), "tópsecret"), (.subprotocol(prefix: "b."), "top/secret"), (.subprotocol(prefix: ""), ""),
    ]) func `a secret with invalid characters is refused and not shown`(placement: CredentialPlacement, secret: String) {
        let failure = #expect(throws: HandshakeFailure.self) { try placed(placement, secret) }
        #expect(failure.map { !$0.description.contains("top") } ?? false)
    }
}
