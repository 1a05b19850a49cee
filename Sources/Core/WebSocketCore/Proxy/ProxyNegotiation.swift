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
