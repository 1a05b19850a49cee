import Holdfast
import WebSocketRuntime
import NIOCore
import WebSocketNIO

/// The channels of a server: limits their number, and ends them together.
final class ChannelRegistry: Sendable {
    private struct Member {
        let channel: any Channel
        /// Nil before its handshake and after its end.
        var socket: WebSocketChannel?
        /// Whether another server is answering a request on it.
        var isGuest = false
        /// The address of the client, if addresses are counted.
        let address: String?
    }
    private struct State {
        var members: [ObjectIdentifier: Member] = [:]
        var byAddress: [String: Int] = [:]
        /// Channels that are rejected because there are too many.
        var rejected: [ObjectIdentifier: any Channel] = [:]
        var socketCount = 0
        var guestCount = 0
        var isClosing = false
        /// The task that waits for the last socket to end.
        var onDrained: CheckedContinuation<Void, Never>?

        mutating func set(_ socket: WebSocketChannel?, of id: ObjectIdentifier) {
            guard let index = members.index(forKey: id), (members.values[index].socket == nil) != (socket == nil) else { return }
            members.values[index].socket = socket
            socketCount += socket == nil ? -1 : 1
        }

        mutating func remove(_ id: ObjectIdentifier) {
            set(nil, of: id)
            guard let member = members.removeValue(forKey: id) else { return }
            if member.isGuest { guestCount -= 1 }
            guard let address = member.address, let count = byAddress[address] else { return }
            byAddress[address] = count > 1 ? count - 1 : nil
        }

        /// Returns the waiting task once no socket is left and none can come.
        mutating func takeDrained() -> CheckedContinuation<Void, Never>? {
            isClosing && socketCount == 0 && guestCount == 0 ? onDrained.take() : nil
        }
    }
    private let state = LockedValue(State())
    /// The maximum number of channels.
    let capacity: Int
    /// The maximum number of channels per address; nil for no limit.
    let perAddress: Int?

    /// Creates a registry with these limits.
    init(capacity: Int, perAddress: Int? = nil) { (self.capacity, self.perAddress) = (capacity, perAddress) }

    /// Creates a registry with the limits of a configuration and of the process's descriptors.
    ///
    /// - Parameter descriptors: The number of descriptors for connections. Once they are used up, the server accepts no connections, see
    ///   ``AcceptGate``.
    convenience init(_ configuration: WebSocketServerConfiguration, descriptors: Int = AcceptGate.places) {
        // Rejected connections use descriptors too.
        let places = max(descriptors - Self.rejectedCapacity, descriptors / 2, 1)
        // HTTP/2 streams use no descriptors.
        let isShared = configuration.httpVersion != .http1
        // One address leaves 1,024 places to others, or half of all.
        let share = max(places / 2, places - 1024, 1)
        self.init(
            capacity: isShared ? configuration.maximumConnections : min(configuration.maximumConnections, places),
            perAddress: configuration.maximumConnectionsPerAddress.map { min($0, share) })
    }

    var count: Int { state.withLockedValue({ $0.members.count }) }
    /// The accepted channels that have not closed.
    var all: [any Channel] { state.withLockedValue { $0.members.values.map(\.channel) } }
    /// The number of requests that another server is answering.
    var guestCount: Int { state.withLockedValue({ $0.guestCount }) }

    /// Whether it accepts no more channels.
    var isClosing: Bool { state.withLockedValue({ $0.isClosing }) }

    /// How a new channel is handled.
    enum Welcome {
        case open
        /// There are too many: the client is told.
        case rejected
        /// There are too many rejected ones, or too many of this address: the channel is closed without an answer.
        case ignored
    }
    private static let rejectedCapacity = 256

    /// Adds a channel until it closes.
    func add(_ channel: any Channel) -> Welcome {
        let id = ObjectIdentifier(channel)
        let address = perAddress == nil ? nil : channel.remoteAddress?.network
        let welcome = state.withLockedValue { state -> Welcome in
            if let perAddress, let address, state.byAddress[address, default: 0] >= perAddress { return .ignored }
            if state.members.count < capacity, !state.isClosing {
                state.members[id] = Member(channel: channel, address: address)
                if let address { state.byAddress[address, default: 0] += 1 }
                return .open
            }
            guard state.rejected.count < Self.rejectedCapacity else { return .ignored }
            state.rejected[id] = channel
            return .rejected
        }
        switch welcome {
        case .open: channel.closeFuture.whenComplete { [self] _ in remove(id) }
        case .rejected: channel.closeFuture.whenComplete { [state] _ in state.withLockedValue { $0.rejected[id] = nil } }
        case .ignored: break
        }
        return welcome
    }

    private func remove(_ id: ObjectIdentifier) {
        let drained = state.withLockedValue { state in
            state.remove(id)
            return state.takeDrained()
        }
        drained?.resume()
    }

    /// Counts a connection until its end; returns false if the server is closing and must tell the client.
    func open(_ socket: WebSocketChannel) -> Bool {
        state.withLockedValue { state in
            state.set(socket, of: socket.id)
            return !state.isClosing
        }
    }

    /// Notes that another server answers a request of a connection; returns false if the connection or this server is closing.
    func host(_ channel: any Channel) -> Bool {
        state.withLockedValue { state in
            guard !state.isClosing, let index = state.members.index(forKey: ObjectIdentifier(channel)) else { return false }
            if !state.members.values[index].isGuest { state.guestCount += 1 }
            state.members.values[index].isGuest = true
            return true
        }
    }

    /// Notes that the request was answered.
    func dismiss(_ channel: any Channel) {
        let drained = state.withLockedValue { state in
            guard let index = state.members.index(forKey: ObjectIdentifier(channel)), state.members.values[index].isGuest else {
                return CheckedContinuation<Void, Never>?.none
            }
            state.members.values[index].isGuest = false
            state.guestCount -= 1
            return state.takeDrained()
        }
        drained?.resume()
    }

    /// Stops counting a connection.
    func end(_ id: ObjectIdentifier) {
        let drained = state.withLockedValue { state in
            state.set(nil, of: id)
            return state.takeDrained()
        }
        drained?.resume()
    }

    /// Waits until the server is closing and no connection is left.
    func drained() async {
        await withCheckedContinuation { continuation in
            let drained = state.withLockedValue { state in
                state.onDrained = continuation
                return state.takeDrained()
            }
            drained?.resume()
        }
    }

    /// Closes all connections with 1001.
    func close() async {
        let (sockets, others, drained) = state.withLockedValue { state in
            state.isClosing = true
            let others = state.members.values.compactMap { $0.socket == nil ? $0.channel : nil }
            return (state.members.values.compactMap(\.socket), others, state.takeDrained())
        }
        drained?.resume()
        // HTTP/2 connections and those served by another server accept no more requests.
        for channel in others { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        await withDiscardingTaskGroup { group in
            for socket in sockets { group.addTask { _ = await socket.close(.shutdown) } }
        }
    }

    /// Closes all remaining channels, such as those of clients in the handshake.
    func drop() {
        for channel in state.withLockedValue({ $0.members.values.map(\.channel) + Array($0.rejected.values) }) {
            channel.close(promise: nil)
        }
    }
}

extension CloseFrame {
    static let shutdown = CloseFrame(.goingAway, reason: "the server shuts down")
}
