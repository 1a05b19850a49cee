import MachineCore

/// What is said to a proxy before the first byte that goes to the server behind it.
///
/// Send ``opening``, then give it what comes until the way is open. Bytes after that are the server's, and are left alone.
public struct ProxyNegotiation: Sendable {
    /// What to do next.
    public enum Step: Hashable, Sendable {
        /// Wait for more bytes.
        case more
        /// Send this, and wait.
        case send([UInt8])
        /// Nothing: from here on it is the server who speaks.
        case established
    }

    private enum Dialogue: Sendable {
        case connect(HeadParser<ResponseHead>)
        case socks(SOCKSDialogue)
    }

    /// What to send first.
    public let opening: [UInt8]
    private var dialogue: Dialogue

    /// Prepares the way to a server.
    ///
    /// - Parameters:
    ///   - proxy: Who is spoken to.
    ///   - host: The server's name or address; IPv6 without brackets.
    ///   - port: The server's port.
    ///   - headLimit: The longest answer taken from an HTTP proxy, in bytes.
    /// - Throws: ``ProxyFailure/Kind/malformed`` for a host that cannot be told to it.
    public init(through proxy: Proxy, to host: String, port: Int, headLimit: Int = 16 * 1024) throws(ProxyFailure) {
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

    /// Reads on, advancing `bytes` past what was the proxy's.
    public mutating func receive(_ bytes: inout UnsafeRawBufferPointer) throws(ProxyFailure) -> Step {
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
        // RFC 9110 §9.3.6: any of them opens the tunnel, and none has a body.
        case 200...299: return .established
        case 407: throw ProxyFailure(.loginNeeded, "it wants a name and a password that it knows: \(response)", response: response)
        case 408, 429, 500, 502, 503, 504:
            throw ProxyFailure(.serverUnreachable, "it could not reach the server: \(response)", response: response)
        default: throw ProxyFailure(.forbidden, "it does not let us through: \(response)", response: response)
        }
    }
}

/// The client's side of SOCKS 5, up to the open way (RFC 1928, RFC 1929).
struct SOCKSDialogue: Sendable {
    private static let version: UInt8 = 5

    private enum Phase {
        /// Which way to prove who we are did it choose?
        case method
        /// Were name and password right?
        case login
        /// Is the way open?
        case reply
    }

    /// The ways that we know to prove who we are.
    let greeting: [UInt8]
    private let login: [UInt8]?
    private let request: [UInt8]
    private var phase = Phase.method
    private var held: [UInt8] = []

    init(to host: String, port: Int, login: Proxy.Login?) throws(ProxyFailure) {
        // A proxy that needs no login may still be told that we have one, so both are offered.
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

    /// Reads on, never beyond the proxy's last byte.
    mutating func receive(_ bytes: inout UnsafeRawBufferPointer) throws(ProxyFailure) -> ProxyNegotiation.Step {
        while held.count < awaited {
            guard let byte = unsafe bytes.first else { return .more }
            unsafe bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
            held.append(byte)
            // RFC 1929 §2 has a version of its own.
            guard held[0] == (phase == .login ? 1 : Self.version) else { throw ProxyFailure(.malformed, "it does not speak SOCKS 5") }
        }
        defer { held = [] }
        switch phase {
        case .method: return try chose(held[1])
        case .login:
            guard held[1] == 0 else { throw ProxyFailure(.loginNeeded, "it does not know this name and password") }
            phase = .reply
            return .send(request)
        case .reply:
            try check(reply: held[1])
            return .established
        }
    }

    /// How many bytes the answer has, as far as that can be told yet.
    private var awaited: Int {
        guard phase == .reply else { return 2 }
        // Up to the byte after the kind of address, which is a name's length.
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
        case (0xFF, nil): throw ProxyFailure(.loginNeeded, "it wants to know who we are, and there is neither name nor password")
        case (0xFF, _): throw ProxyFailure(.loginNeeded, "it takes no name and password, and none without")
        default: throw ProxyFailure(.malformed, "it chose a way to log in that was not offered")
        }
    }

    /// RFC 1928 §6.
    private func check(reply: UInt8) throws(ProxyFailure) {
        switch reply {
        case 0:
            guard [1, 3, 4].contains(held[3]) else { throw ProxyFailure(.malformed, "it told an address of an unknown kind") }
        case 1: throw ProxyFailure(.serverUnreachable, "it failed, and does not say why")
        case 2: throw ProxyFailure(.forbidden, "it does not let us through to this server")
        case 3: throw ProxyFailure(.serverUnreachable, "it could not reach the server: no way to its network")
        case 4: throw ProxyFailure(.serverUnreachable, "it could not reach the server: no way to the host, or no such name")
        case 5: throw ProxyFailure(.serverUnreachable, "it could not reach the server: connection refused")
        case 6: throw ProxyFailure(.serverUnreachable, "it could not reach the server: too many hops")
        default: throw ProxyFailure(.forbidden, "it cannot do that (reply \(reply))")
        }
    }
}
