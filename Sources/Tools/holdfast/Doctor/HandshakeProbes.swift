import Foundation
import Holdfast

/// Asks for all addresses of the host that the socket is to be connected to, and tries each of them.
enum ResolveProbe {
    static func run(_ errand: Errand) async -> Resolution {
        let (host, port) = errand.options.proxy.map { ($0.host, $0.port) } ?? (errand.options.url.host, errand.options.url.port)
        let start = ContinuousClock.now
        let lookup = await lookUp(host, within: errand.deadline().remaining)
        var resolution = Resolution(host: host, lookupMs: start.duration(to: .now).ms)
        switch lookup {
        case .failure(let failure): resolution.error = failure.description
        case .success(let found):
            let errand = errand.within(errand.patience)
            resolution.addresses = await withTaskGroup(of: (Int, Resolution.Address).self) { group in
                for (place, address) in found.enumerated() { group.addTask { (place, await connect(address, port, errand)) } }
                return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }
        return resolution
    }

    private static func connect(_ address: Resolution.Address, _ port: Int, _ errand: Errand) async -> Resolution.Address {
        var address = address
        do {
            let host = address.family == "IPv6" ? "[\(address.address)]" : address.address
            var options = ClientOptions(url: try WebSocketURL("ws://\(host):\(port)/"))
            options.connectTimeout = errand.deadline().remaining
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

    /// The system's own lookup; it cannot be cancelled, so it is left behind when it takes too long.
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

/// Does TLS and no more, offering HTTP/2 besides HTTP/1.1; if nobody vouches for the chain, looks at it all the same.
enum SecurityProbe {
    static func run(_ errand: Errand) async throws(TransportError) -> SecurityView {
        var options = errand.options
        options.tls.applicationProtocols = ["h2", "http/1.1"]
        var view = SecurityView(isUnverified: options.tls.isInsecure)
        options.tls.isInsecure = false
        do throws(TransportError) {
            view.take(try await look(options, isUnverified: view.isUnverified))
        } catch {
            guard TransportError.Code.trustFailures.contains(error.code) else { throw error }
            view.distrust = SecurityView.Distrust(code: error.code.description, text: error.detail)
            // What it shows explains the failure; if TLS itself fails there is nothing more to see.
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

/// Asks for a WebSocket in another way than the user does.
enum RequestProbe {
    static func unknownPath(_ errand: Errand) async throws -> RequestView {
        let url = errand.options.url
        let other = try WebSocketURL("\(url.isSecure ? "wss" : "ws")://\(url.hostHeader)/holdfast-doctor/no-such-path")
        return await run(errand) { $0.url = other }
    }

    /// RFC 6455 §10.2: browsers tell where a page is from, so that a server can refuse those of others.
    static func wrongOrigin(_ errand: Errand) async -> RequestView {
        await run(errand) { $0.headers["Origin"] = "https://holdfast-doctor.invalid" }
    }

    private static func run(_ errand: Errand, _ change: (inout ClientOptions) -> Void) async -> RequestView {
        do {
            let wire = try await Wire.open(errand, change: change)
            await wire.leave()
            return RequestView(isAccepted: true, status: wire.view.status)
        } catch {
            return RequestView(isAccepted: false, status: error.view.status, error: error.view.status == nil ? error.description : nil)
        }
    }
}

/// Sends a request without `Host`, which HTTP/1.1 demands: whoever is first on the way refuses it in his own name.
enum MalformedProbe {
    static func run(_ errand: Errand) async throws -> MalformedView {
        let link = try await NIOConnector.bytes(errand.options)
        defer { link.close() }
        link.send(Array("GET \(errand.options.url.target) HTTP/1.1\r\n\r\n".utf8))
        let deadline = errand.deadline(min(errand.patience, .seconds(2)))
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
