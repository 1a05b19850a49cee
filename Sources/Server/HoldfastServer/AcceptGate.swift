import Foundation
package import NIOCore
package import WebSocketCore
import WebSocketRuntime

/// Stops taking connections while the process has no file descriptors left for them, and goes on when it has.
///
/// A listening socket that cannot be accepted from stays readable, and the event loop would ask it again and again. Some descriptors are
/// left for what the process opens beside connections: its log, its backups, what it asks others.
final class AcceptGate: ChannelInboundHandler, Sendable {
    typealias InboundIn = any Channel

    /// Descriptors that connections leave free.
    private static let reserve = 64
    /// How long it waits when the system has refused one: what frees them may be anything in the process.
    private static let pause = TimeAmount.milliseconds(250)

    private struct State {
        var open = 0
        var listener: (any Channel)?
        /// The system has refused a descriptor.
        var isRefused = false
    }
    private let state = LockedValue(State())
    private let most: Int

    /// How many connections the process may have descriptors for, but for the reserve.
    static var places: Int { max(descriptors - reserve, 1) }

    /// A gate for as many connections as the process may have descriptors, but for the reserve.
    convenience init() { self.init(most: Self.places) }

    /// A gate for so many connections.
    init(most: Int) { self.most = most }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        state.withLockedValue { $0.listener = channel }
    }

    func handlerRemoved(context: ChannelHandlerContext) { state.withLockedValue { $0.listener = nil } }

    /// Counts a connection, until it closes.
    func count(_ connection: any Channel) {
        change { $0.open += 1 }
        connection.closeFuture.whenComplete { [self] _ in change { $0.open -= 1 } }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) {
            change { $0.isRefused = true }
            context.eventLoop.scheduleTask(in: Self.pause) { [self] in change { $0.isRefused = false } }
        }
        context.fireErrorCaught(error)
    }

    private func change(_ body: (inout State) -> Void) {
        let changed = state.withLockedValue { state -> (any Channel)? in
            let was = isOpen(state)
            body(&state)
            return was == isOpen(state) ? nil : state.listener
        }
        guard let listener = changed else { return }
        // A paused listener is taken out of what the event loop waits for.
        if listener.eventLoop.inEventLoop { apply(to: listener) } else { listener.eventLoop.execute { [self] in apply(to: listener) } }
    }

    /// Others may have changed it meanwhile: what holds now counts.
    private func apply(to listener: any Channel) {
        try? listener.syncOptions?.setOption(.autoRead, value: state.withLockedValue { isOpen($0) })
    }

    private func isOpen(_ state: State) -> Bool { state.open < most && !state.isRefused }

    /// How many descriptors the process may have.
    private static var descriptors: Int {
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : .max
    }
}

/// Where a client comes from.
package enum PeerAddress {
    /// The host of `host:port`; a client of a Unix domain socket has none.
    package static func host(of address: String?) -> String {
        guard let address, let colon = address.lastIndex(of: ":") else { return "" }
        let host = address[..<colon]
        return host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host)
    }

    /// Whom the nearest proxy speaks for: the last address of `X-Forwarded-For`, perhaps with a port; nil if there is none.
    package static func forwarded(_ headers: HeaderFields) -> String? {
        guard let last = headers.tokens("X-Forwarded-For").last else { return nil }
        let hosts = [last, host(of: last), last.hasPrefix("[") ? String(last.dropFirst().dropLast()) : last]
        return hosts.first { (try? SocketAddress(ipAddress: $0, port: 0)) != nil }
    }
}

extension SocketAddress {
    /// What limits per address count: see ``network(of:)``; nil for a Unix domain socket, whose clients have none.
    package var network: String? { ipAddress.map(Self.network(of:)) }

    /// An IPv4 address as it is, and the first 64 bits of one of IPv6: whoever has one of those has them all.
    package static func network(of host: String) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, String(host.prefix { $0 != "%" }), &bytes) == 1 else { return host }
        // IPv4 that came over a socket for both (RFC 4291 §2.5.5.2).
        if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10...11] == [0xFF, 0xFF] {
            return bytes.suffix(4).map { String($0) }.joined(separator: ".")
        }
        return bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ".") + "/64"
    }
}
