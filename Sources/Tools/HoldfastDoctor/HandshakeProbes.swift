import Foundation
import Holdfast
import HoldfastTerminal

/// Looks up all addresses of the host to connect to, and tries each of them.
enum ResolveProbe {
    static func run(_ target: ProbeTarget) async -> Resolution {
        let (host, port) = target.options.proxy.map { ($0.host, $0.port) } ?? (target.options.url.host, target.options.url.port)
        let start = ContinuousClock.now
        let lookup = await lookUp(host, within: target.deadline().remaining)
        var resolution = Resolution(host: host, lookupMs: start.duration(to: .now).ms)
        switch lookup {
        case .failure(let failure): resolution.error = failure.description
        case .success(let found):
            let target = target.within(target.patience)
            resolution.addresses = await withTaskGroup(of: (Int, Resolution.Address).self) { group in
                for (place, address) in found.enumerated() { group.addTask { (place, await connect(address, port, target)) } }
                return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }
        return resolution
    }

    private static func connect(_ address: Resolution.Address, _ port: Int, _ target: ProbeTarget) async -> Resolution.Address {
        var address = address
        do {
            let host = address.family == "IPv6" ? "[\(address.address)]" : address.address
            var options = ClientOptions(url: try WebSocketURL("ws://\(host):\(port)/"))
            options.connectTimeout = target.deadline().remaining
            let link = try await NIOConnector.bytes(options)
            link.close()
            address.connectMs = link.connected.ms
        } catch let error as TransportError {
            address.error = error.detail
        } catch {
            address.error = "\(error)"
        }
        return address
    }

    /// Uses the system's lookup; it cannot be cancelled, so it is abandoned when it takes too long.
    private static func lookUp(_ host: String, within limit: Duration) async -> Result<[Resolution.Address], ProbeFailure> {
        let (answers, answer) = AsyncStream.makeStream(of: Result<[Resolution.Address], ProbeFailure>.self)
        let queue = DispatchQueue.global()
        queue.async { answer.yield(addresses(of: host)) }
        queue.asyncAfter(deadline: .now() + limit / .seconds(1)) {
            answer.yield(.failure(ProbeFailure(description: "no answer within \(limit.phrase)")))
        }
        for await first in answers { return first }
        return .failure(ProbeFailure(description: "interrupted"))
    }

    private static func addresses(of host: String) -> Result<[Resolution.Address], ProbeFailure> {
        var hints = addrinfo()
        #if canImport(Darwin)
            hints.ai_socktype = SOCK_STREAM
        #else
            hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        guard status == 0 else { return .failure(ProbeFailure(description: String(cString: gai_strerror(status)))) }
        defer { freeaddrinfo(list) }
        var (found, next): ([Resolution.Address], UnsafeMutablePointer<addrinfo>?) = ([], list)
        while let entry = next?.pointee {
            next = entry.ai_next
            var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard getnameinfo(entry.ai_addr, entry.ai_addrlen, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0 else { continue }
            let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let address = Resolution.Address(address: text, family: entry.ai_family == AF_INET6 ? "IPv6" : "IPv4")
            if !found.contains(address) { found.append(address) }
        }
        return .success(found)
    }
}

/// Performs only a TLS handshake that offers HTTP/2 and HTTP/1.1; inspects an untrusted chain as well.
enum SecurityProbe {
    static func run(_ target: ProbeTarget) async throws(TransportError) -> SecurityView {
        var options = target.options
        options.tls.applicationProtocols = ["h2", "http/1.1"]
        var view = SecurityView(isUnverified: options.tls.isInsecure)
        do throws(TransportError) {
            view.take(try await look(options, isUnverified: view.isUnverified))
        } catch {
            guard TransportError.Code.trustFailures.contains(error.code) else { throw error }
            view.distrust = SecurityView.TrustFailure(code: error.code.description, text: error.detail)
            // The untrusted chain explains the failure; if TLS itself fails, there is nothing more to see.
            if let link = try? await look(options, isUnverified: true) { view.take(link) }
        }
        return view
    }

    private static func look(_ options: ClientOptions, isUnverified: Bool) async throws(TransportError) -> ByteLink {
        let link = try await NIOConnector.bytes(options, isUnverified: isUnverified)
        link.close()
        return link
    }
}

extension SecurityView {
    fileprivate mutating func take(_ link: ByteLink) {
        guard let security = link.security else { return }
        let now = Int64(Date().timeIntervalSince1970)
        (version, handshakeMs) = (security.version, link.secured?.ms)
        chain = security.chain.map { Certificate($0, now: now) }
        choosesHTTP2 = security.applicationProtocol == "h2"
    }
}

/// Requests a WebSocket with a changed request.
enum RequestProbe {
    static func unknownPath(_ target: ProbeTarget) async throws -> RequestView {
        let url = target.options.url
        let other = try WebSocketURL("\(url.isSecure ? "wss" : "ws")://\(url.hostHeader)/holdfast-doctor/no-such-path")
        return await run(target) { $0.url = other }
    }

    /// RFC 6455 §10.2: browsers send the origin of a page, so that a server can refuse pages of other sites.
    static func wrongOrigin(_ target: ProbeTarget) async -> RequestView {
        await run(target) { $0.headers["Origin"] = "https://holdfast-doctor.invalid" }
    }

    private static func run(_ target: ProbeTarget, _ change: (inout ClientOptions) -> Void) async -> RequestView {
        do {
            let wire = try await Wire.open(target, change: change)
            await wire.leave()
            return RequestView(isAccepted: true, status: wire.view.status)
        } catch {
            return RequestView(isAccepted: false, status: error.view.status, error: error.view.status == nil ? error.description : nil)
        }
    }
}

/// Sends a request without `Host`, which HTTP/1.1 requires; the first hop on the path refuses it with its own `Server` name.
enum MalformedProbe {
    static func run(_ target: ProbeTarget) async throws -> MalformedView {
        let link = try await NIOConnector.bytes(target.options)
        defer { link.close() }
        link.send(Array("GET \(target.options.url.target) HTTP/1.1\r\n\r\n".utf8))
        let deadline = target.deadline(min(target.patience, .seconds(2)))
        var parser = HeadParser<ResponseHead>()
        while case .bytes(let bytes) = await link.next(within: deadline.remaining) {
            let head = bytes.withUnsafeBytes { bytes in
                var rest = bytes
                return Result { () throws(HandshakeFailure) in try parser.parse(&rest) }
            }
            guard let found = try head.get() else { continue }
            return MalformedView(status: found.status, server: found.headers["Server"])
        }
        return MalformedView()
    }
}
