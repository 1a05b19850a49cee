import Foundation
package import NIOCore
package import WebSocketCore
import WebSocketRuntime

/// Stops accepting connections while the process has no file descriptors for them, and continues when it has.
///
/// A listening socket whose connections cannot be accepted stays readable, so the event loop would retry in a busy loop. Some descriptors
/// are reserved for other uses of the process: its log, its backups, and its requests to other servers.
final class AcceptGate: ChannelInboundHandler, Sendable {
    typealias InboundIn = any Channel

    /// The number of descriptors that connections must leave free.
    private static let reserve = 64
    /// How long to wait after the system has refused a descriptor.
    ///
    /// Anything in the process may free one.
    private static let pause = TimeAmount.milliseconds(250)

    private struct State {
        var open = 0
        var listener: (any Channel)?
        /// Whether the system has refused a descriptor.
        var isRefused = false
    }
    private let state = LockedValue(State())
    private let most: Int

    /// The number of connections for which the process has descriptors, without the reserve.
    static var places: Int { max(descriptors - reserve, 1) }

    /// Creates a gate for as many connections as the process has descriptors, without the reserve.
    convenience init() { self.init(most: Self.places) }

    /// Creates a gate for this many connections.
    init(most: Int) { self.most = most }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        state.withLockedValue { $0.listener = channel }
    }

    func handlerRemoved(context: ChannelHandlerContext) { state.withLockedValue { $0.listener = nil } }

    /// Counts a connection until it closes.
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
        // The event loop does not wait for a paused listener.
        if listener.eventLoop.inEventLoop { apply(to: listener) } else { listener.eventLoop.execute { [self] in apply(to: listener) } }
    }

    /// Applies the present state, which other threads may have changed meanwhile.
    private func apply(to listener: any Channel) {
        try? listener.syncOptions?.setOption(.autoRead, value: state.withLockedValue { isOpen($0) })
    }

    private func isOpen(_ state: State) -> Bool { state.open < most && !state.isRefused }

    /// The number of descriptors that the process may have.
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

/// The address of a client.
package enum PeerAddress {
    /// Returns the host of `host:port`; empty for a client of a Unix domain socket.
    package static func host(of address: String?) -> String {
        guard let address, let colon = address.lastIndex(of: ":") else { return "" }
        let host = address[..<colon]
        return host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host)
    }

    /// Returns the client address that the nearest proxy reports: the last one in `X-Forwarded-For`, with or without a port; nil if there is none.
    package static func forwarded(_ headers: HeaderFields) -> String? {
        guard let last = headers.tokens("X-Forwarded-For").last else { return nil }
        let hosts = [last, host(of: last), last.hasPrefix("[") ? String(last.dropFirst().dropLast()) : last]
        return hosts.first { (try? SocketAddress(ipAddress: $0, port: 0)) != nil }
    }
}

extension SocketAddress {
    /// The key for limits per address, see ``network(of:)``; nil for a Unix domain socket, whose clients have no address.
    package var network: String? { ipAddress.map(Self.network(of:)) }

    /// Returns an IPv4 address unchanged, and the first 64 bits of an IPv6 address, because one client usually has a whole /64 network.
    package static func network(of host: String) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, String(host.prefix { $0 != "%" }), &bytes) == 1 else { return host }
        // An IPv4 address on a dual-stack socket (RFC 4291 §2.5.5.2).
        if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10...11] == [0xFF, 0xFF] {
            return bytes.suffix(4).map { String($0) }.joined(separator: ".")
        }
        return bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ".") + "/64"
    }
}
