import MachineCore

/// The client side of the opening handshake (RFC 6455 §4.1).
package struct ClientHandshake: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The request to send.
    ///
    /// All fields are set and valid.
    package let request: RequestHead

    private let key: WebSocketKey
    private let subprotocols: [String]
    private let offer: DeflateOffer?

    /// Prepares a request.
    ///
    /// - Parameters:
    ///   - url: The URL to connect to.
    ///   - subprotocols: The subprotocols in order of preference; each must be a token, without repetitions.
    ///   - deflate: The compression to offer; nil for none.
    ///   - headers: Additional fields to send. `Host` replaces that of the URL.
    ///   - generator: The source of the random bytes of the key; must be unpredictable outside of tests.
    /// - Throws: ``HandshakeFailure/Kind/invalidSubprotocol``; ``HandshakeFailure/Kind/invalidHeader`` for fields that the handshake sets
    ///   itself (`Upgrade`, `Connection`, `Sec-WebSocket-*`), fields that announce a body, a second `Host`, or a name or value that cannot
    ///   be sent.
    package init<G: RandomNumberGenerator>(
        url: WebSocketURL, subprotocols: [String] = [], deflate: DeflatePreferences? = nil, headers: HeaderFields = [:],
        using generator: inout G
    ) throws(HandshakeFailure) {
        try headers.refuseReserved()
        guard headers.values("Host").count <= 1 else { throw HandshakeFailure(.invalidHeader, "Host is given twice") }
        if let wrong = Subprotocols.firstInvalid(in: subprotocols) {
            throw HandshakeFailure(.invalidSubprotocol, "number \(wrong) of the offered subprotocols is not a token, or is repeated")
        }
        key = WebSocketKey(using: &generator)
        offer = deflate?.offer
        self.subprotocols = subprotocols

        var fields: HeaderFields = [
            "Host": headers["Host"] ?? url.hostHeader, "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Key": key.value, "Sec-WebSocket-Version": ServerHandshake.version,
        ]
        if !subprotocols.isEmpty { fields.add("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", ")) }
        if let offer { fields.add("Sec-WebSocket-Extensions", offer.headerValue) }
        for field in headers where !HeaderSyntax.isEqual(field.name, "Host") { fields.add(field) }
        try fields.check()
        request = RequestHead(target: url.target, headers: fields)
    }

    /// The request's first line, for logs.
    ///
    /// Subprotocols are omitted because one may carry a token.
    package var description: String { request.description }

    /// A mirror of the request.
    package var customMirror: Mirror { Mirror(self, children: ["request": request]) }

    /// Checks the server's response.
    ///
    /// Everything that is not proven correct fails.
    ///
    /// Pass only final responses, see ``ResponseHead/isInterim``. Throws ``HandshakeFailure/Kind/refused`` for a status other than 101, and
    /// otherwise the error of the 101 response.
    package func check(_ response: ResponseHead) throws(HandshakeFailure) -> Agreement {
        let headers = response.headers
        guard response.status == 101 else { throw HandshakeFailure(.refused, "the server answered \(response)") }
        guard response.minorVersion >= 1 else { throw HandshakeFailure(.invalidUpgrade, "HTTP/1.0 cannot upgrade") }
        let upgrade = headers.tokens("Upgrade")
        guard upgrade.count == 1, HeaderSyntax.isEqual(upgrade[0], "websocket") else {
            throw HandshakeFailure(.invalidUpgrade, "Upgrade is not `websocket`")
        }
        guard headers.contains("upgrade", in: "Connection") else {
            throw HandshakeFailure(.invalidUpgrade, "Connection has no `upgrade`")
        }
        let accept = headers.values("Sec-WebSocket-Accept")
        guard accept.count == 1 else { throw HandshakeFailure(.invalidAccept, accept.isEmpty ? "it is missing" : "it is repeated") }
        // Compared as bytes, because `==` on strings treats the Kelvin sign like K.
        guard accept[0].utf8.elementsEqual(key.accept.utf8) else {
            throw HandshakeFailure(.invalidAccept, "it does not answer this request's key")
        }
        return try agree(to: response)
    }

    /// Returns the agreement of a response that opens the WebSocket.
    func agree(to response: ResponseHead) throws(HandshakeFailure) -> Agreement {
        let headers = response.headers
        let extensions = try WebSocketExtension.parse(headers)
        return Agreement(
            subprotocol: try subprotocol(in: headers), deflate: try deflate(in: extensions),
            extensions: extensions.map(\.headerValue), response: response)
    }

    private func subprotocol(in headers: HeaderFields) throws(HandshakeFailure) -> String? {
        let answers = headers.values("Sec-WebSocket-Protocol")
        guard let answer = answers.first else { return nil }
        guard answers.count == 1, HeaderSyntax.isToken(answer), subprotocols.contains(answer) else {
            throw .subprotocolNotOffered
        }
        return answer
    }

    private func deflate(in extensions: [WebSocketExtension]) throws(HandshakeFailure) -> DeflateParameters? {
        guard let answer = extensions.first else { return nil }
        guard extensions.count == 1, let offer, answer.name == DeflateOffer.name else {
            let names = extensions.map(\.name).joined(separator: ", ")
            throw HandshakeFailure(.invalidExtension, "the server chose \(quoted(names)), which was not offered")
        }
        return try offer.accept(answer)
    }

    /// Returns the same request for HTTP/2: the fields of the HEADERS frame (RFC 8441 §4).
    ///
    /// - Parameter isSecure: Whether the URL's scheme is `wss`.
    package func extendedConnect(isSecure: Bool) -> HeaderFields {
        var fields: HeaderFields = [
            ":method": "CONNECT", ":protocol": "websocket", ":scheme": isSecure ? "https" : "http",
            ":authority": request.headers["Host"] ?? "", ":path": request.target,
        ]
        for field in request.headers.forHTTP2 where field.name != "host" && field.name != "sec-websocket-key" { fields.add(field) }
        return fields
    }

    /// Checks the server's response to ``extendedConnect(isSecure:)``.
    ///
    /// Everything that is not proven correct fails.
    ///
    /// Pass only final responses. Throws ``HandshakeFailure/Kind/refused`` for a status other than 200 to 299, and otherwise the error of
    /// the response.
    package func checkTunnel(_ response: ResponseHead) throws(HandshakeFailure) -> Agreement {
        guard response.status != 101 else { throw HandshakeFailure(.invalidUpgrade, "HTTP/2 has no status 101") }
        guard 200...299 ~= response.status else { throw HandshakeFailure(.refused, "the server answered \(response)") }
        return try agree(to: response)
    }
}

/// A `Sec-WebSocket-Key`: the Base64 text of 16 random bytes from the client (RFC 6455 §4.1).
package struct WebSocketKey: Hashable, Sendable {
    /// The value of the header field, 24 characters.
    package let value: String

    /// Creates a random key.
    package init(using generator: inout some RandomNumberGenerator) {
        value = Base64.text((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// Reads a key from a request; fails if it is not Base64 of exactly 16 bytes.
    package init?(_ value: String) {
        // Unused bits in the last digit are ignored.
        guard Base64.bytes(of: value.utf8, isCanonical: false)?.count == 16 else { return nil }
        self.value = value
    }

    /// The `Sec-WebSocket-Accept` value that proves that the server understood this key as WebSocket (RFC 6455 §4.2.2).
    package var accept: String {
        Base64.text(SHA1.digest(Array((value + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }
}

/// SHA-1 (RFC 3174), for `Sec-WebSocket-Accept` only.
///
/// Security does not depend on it.
enum SHA1 {
    static func digest(_ message: [UInt8]) -> [UInt8] {
        let padded = padded(message)
        var state = State()
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { words in
            for block in stride(from: 0, to: padded.count, by: 64) {
                unsafe expand(padded, from: block, into: words)
                unsafe state.mix(words)
            }
        }
        var digest: [UInt8] = []
        digest.reserveCapacity(20)
        for word in [state.a, state.b, state.c, state.d, state.e] { appendBigEndian(word, to: &digest) }
        return digest
    }

    /// Returns the message with a one bit, zeros, and the length in bits, so that it fills whole blocks.
    private static func padded(_ message: [UInt8]) -> [UInt8] {
        var bytes = message
        bytes.append(0x80)
        bytes += repeatElement(0, count: (119 - message.count % 64) % 64)
        appendBigEndian(UInt64(message.count) &* 8, to: &bytes)
        return bytes
    }

    private static func expand(_ bytes: [UInt8], from block: Int, into words: UnsafeMutableBufferPointer<UInt32>) {
        unsafe bytes.withUnsafeBytes { bytes in
            for t in 0..<16 { unsafe words[t] = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: block + 4 * t, as: UInt32.self)) }
        }
        for t in 16..<80 { unsafe words[t] = rotated(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], by: 1) }
    }

    private struct State {
        var (a, b, c, d, e): (UInt32, UInt32, UInt32, UInt32, UInt32) = (0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0)

        mutating func mix(_ words: UnsafeMutableBufferPointer<UInt32>) {
            let before = self
            for t in 0..<20 { unsafe step((b & c) | (~b & d), 0x5A82_7999 &+ words[t]) }
            for t in 20..<40 { unsafe step(b ^ c ^ d, 0x6ED9_EBA1 &+ words[t]) }
            for t in 40..<60 { unsafe step((b & c) | (b & d) | (c & d), 0x8F1B_BCDC &+ words[t]) }
            for t in 60..<80 { unsafe step(b ^ c ^ d, 0xCA62_C1D6 &+ words[t]) }
            (a, b, c, d, e) = (a &+ before.a, b &+ before.b, c &+ before.c, d &+ before.d, e &+ before.e)
        }

        private mutating func step(_ choice: UInt32, _ word: UInt32) {
            (a, b, c, d, e) = (rotated(a, by: 5) &+ choice &+ e &+ word, a, rotated(b, by: 30), c, d)
        }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }

    private static func appendBigEndian(_ word: some FixedWidthInteger, to bytes: inout [UInt8]) {
        var shift = word.bitWidth
        while shift > 0 {
            shift -= 8
            bytes.append(UInt8(truncatingIfNeeded: word >> shift))
        }
    }
}
