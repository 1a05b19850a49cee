extension ClientHandshake {
    /// The same request over HTTP/2: the fields of the HEADERS frame (RFC 8441 §4).
    ///
    /// - Parameter isSecure: Whether the URL's scheme is `wss`.
    public func extendedConnect(isSecure: Bool) -> HeaderFields {
        var fields: HeaderFields = [
            ":method": "CONNECT", ":protocol": "websocket", ":scheme": isSecure ? "https" : "http",
            ":authority": request.headers["Host"] ?? "", ":path": request.target,
        ]
        for field in request.headers.forHTTP2 where field.name != "host" && field.name != "sec-websocket-key" { fields.add(field) }
        return fields
    }

    /// Checks the server's answer to ``extendedConnect(isSecure:)``; anything not proven to be right fails.
    ///
    /// Give it final responses only. Throws ``HandshakeFailure/Kind/refused`` for a status other than 200 to 299, and what is wrong with
    /// one of these otherwise.
    public func checkTunnel(_ response: ResponseHead) throws(HandshakeFailure) -> Agreement {
        guard response.status != 101 else { throw HandshakeFailure(.invalidUpgrade, "HTTP/2 has no status 101") }
        guard 200...299 ~= response.status else { throw HandshakeFailure(.refused, "the server answered \(response)") }
        return try agree(to: response)
    }
}
