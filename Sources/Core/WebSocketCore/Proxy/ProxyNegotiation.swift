import MachineCore

/// The dialogue with a proxy before the first byte for the server behind it.
///
/// Send ``opening``, then pass the received bytes until the connection is established. Bytes after that belong to the server and are not
/// consumed.
package struct ProxyNegotiation: Sendable {
    /// The next action.
    package enum Step: Hashable, Sendable {
        /// Wait for more bytes.
        case more
        /// Send these bytes, and wait.
        case send([UInt8])
        /// None: all further bytes come from the server.
        case established
    }

    private enum Dialogue: Sendable {
        case connect(HeadParser<ResponseHead>)
        case socks(SOCKSDialogue)
    }

    /// The bytes to send first.
    package let opening: [UInt8]
    private var dialogue: Dialogue

    /// Prepares a connection to a server.
    ///
    /// - Parameters:
    ///   - proxy: The proxy.
    ///   - host: The server's name or address; IPv6 without brackets.
    ///   - port: The server's port.
    ///   - headLimit: The maximum response length of an HTTP proxy, in bytes.
    /// - Throws: ``ProxyFailure/Kind/malformed`` for a host that the proxy protocol cannot express.
    package init(through proxy: Proxy, to host: String, port: Int, headLimit: Int = 16 * 1024) throws(ProxyFailure) {
        if proxy.kind == .socks5 {
            let socks = try SOCKSDialogue(to: host, port: port, login: proxy.login)
            (opening, dialogue) = (socks.greeting, .socks(socks))
            return
        }
        let target = authority(host, port)
        var headers: HeaderFields = ["Host": target]
        if let login = proxy.login {
            headers.add("Proxy-Authorization", "Basic \(Base64.text(Array("\(login.user):\(login.password)".utf8)))")
        }
        do throws(HandshakeFailure) {
            opening = try RequestHead(method: "CONNECT", target: target, headers: headers).encoded()
        } catch {
            throw ProxyFailure(.malformed, error.detail)
        }
        dialogue = .connect(HeadParser(limit: headLimit))
    }

    /// Reads more bytes, and advances `bytes` past those of the proxy.
    package mutating func receive(_ bytes: inout UnsafeRawBufferPointer) throws(ProxyFailure) -> Step {
        switch dialogue {
        case .connect(var parser):
            defer { dialogue = .connect(parser) }
            return try unsafe Self.connect(&parser, &bytes)
        case .socks(var socks):
            defer { dialogue = .socks(socks) }
            return try unsafe socks.receive(&bytes)
        }
    }

    private static func connect(
        _ parser: inout HeadParser<ResponseHead>, _ bytes: inout UnsafeRawBufferPointer
    ) throws(ProxyFailure) -> Step {
        let response: ResponseHead
        do throws(HandshakeFailure) {
            repeat {
                guard let next = try unsafe parser.parse(&bytes) else { return .more }
                if !next.isInterim {
                    response = next
                    break
                }
            } while true
        } catch {
            throw ProxyFailure(.malformed, "it does not answer as an HTTP proxy: \(error)")
        }
        switch response.status {
        // RFC 9110 §9.3.6: any 2xx status opens the tunnel, and the response has no body.
        case 200...299: return .established
        case 407: throw ProxyFailure(.loginNeeded, "it wants a name and a password that it accepts: \(response)", response: response)
        case 408, 429, 500, 502, 503, 504:
            throw ProxyFailure(.serverUnreachable, "it could not reach the server: \(response)", response: response)
        default: throw ProxyFailure(.forbidden, "it does not let us through: \(response)", response: response)
        }
    }
}

/// The client side of SOCKS 5, until the connection is open (RFC 1928, RFC 1929).
struct SOCKSDialogue: Sendable {
    private static let version: UInt8 = 5

    private enum Phase {
        /// Waits for the login method that the proxy chooses.
        case method
        /// Waits for the result of the login.
        case login
        /// Waits for the result of the connection request.
        case reply
    }

    /// The login methods that this client supports.
    let greeting: [UInt8]
    private let login: [UInt8]?
    private let request: [UInt8]
    private var phase = Phase.method
    private var held: [UInt8] = []

    init(to host: String, port: Int, login: Proxy.Login?) throws(ProxyFailure) {
        // A proxy that needs no login accepts the offer of one, so both methods are offered.
        greeting = login == nil ? [Self.version, 1, 0] : [Self.version, 2, 0, 2]
        self.login = login.map { login in
            [1, UInt8(truncatingIfNeeded: login.user.utf8.count)] + Array(login.user.utf8)
                + [UInt8(truncatingIfNeeded: login.password.utf8.count)] + Array(login.password.utf8)
        }
        let address: [UInt8]
        if let ip = IPAddress(host) {
            address = [ip.bytes.count == 4 ? 1 : 4] + ip.bytes
        } else {
            guard 1...255 ~= host.utf8.count else {
                throw ProxyFailure(.malformed, "the server's name is longer than the 255 bytes that SOCKS 5 takes")
            }
            address = [3, UInt8(host.utf8.count)] + Array(host.utf8)
        }
        request = [Self.version, 1, 0] + address + [UInt8(truncatingIfNeeded: port >> 8), UInt8(truncatingIfNeeded: port)]
    }

    /// Reads more bytes, never beyond the proxy's last byte.
    mutating func receive(_ bytes: inout UnsafeRawBufferPointer) throws(ProxyFailure) -> ProxyNegotiation.Step {
        while held.count < awaited {
            guard let byte = unsafe bytes.first else { return .more }
            unsafe bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
            held.append(byte)
            // RFC 1929 §2 uses its own version number.
            guard held[0] == (phase == .login ? 1 : Self.version) else { throw ProxyFailure(.malformed, "it does not speak SOCKS 5") }
        }
        defer { held = [] }
        switch phase {
        case .method: return try chose(held[1])
        case .login:
            guard held[1] == 0 else { throw ProxyFailure(.loginNeeded, "it rejects this name and password") }
            phase = .reply
            return .send(request)
        case .reply:
            try check(reply: held[1])
            return .established
        }
    }

    /// The length of the response in bytes, as far as it is known.
    private var awaited: Int {
        guard phase == .reply else { return 2 }
        // Up to the byte after the address type, which is the length if it is a name.
        guard held.count >= 5 else { return 5 }
        switch held[3] {
        case 1: return 4 + 4 + 2
        case 4: return 4 + 16 + 2
        case 3: return 4 + 1 + Int(held[4]) + 2
        default: return 5
        }
    }

    private mutating func chose(_ method: UInt8) throws(ProxyFailure) -> ProxyNegotiation.Step {
        switch (method, login) {
        case (0, _):
            phase = .reply
            return .send(request)
        case (2, let login?):
            phase = .login
            return .send(login)
        case (0xFF, nil): throw ProxyFailure(.loginNeeded, "it requires a login, but no name and password are given")
        case (0xFF, _): throw ProxyFailure(.loginNeeded, "it accepts neither a login with name and password nor a connection without login")
        default: throw ProxyFailure(.malformed, "it chose a login method that was not offered")
        }
    }

    /// RFC 1928 §6.
    private func check(reply: UInt8) throws(ProxyFailure) {
        switch reply {
        case 0:
            guard [1, 3, 4].contains(held[3]) else { throw ProxyFailure(.malformed, "it returned an address of an unknown type") }
        case 1: throw ProxyFailure(.serverUnreachable, "it failed without giving a reason")
        case 2: throw ProxyFailure(.forbidden, "it does not let us through to this server")
        case 3: throw ProxyFailure(.serverUnreachable, "it could not reach the server: no route to its network")
        case 4: throw ProxyFailure(.serverUnreachable, "it could not reach the server: no route to the host, or unknown name")
        case 5: throw ProxyFailure(.serverUnreachable, "it could not reach the server: connection refused")
        case 6: throw ProxyFailure(.serverUnreachable, "it could not reach the server: too many hops")
        default: throw ProxyFailure(.forbidden, "it does not support the request (reply \(reply))")
        }
    }
}
