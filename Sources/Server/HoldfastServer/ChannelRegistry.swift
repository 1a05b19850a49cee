import Holdfast
import WebSocketRuntime
import NIOCore
import WebSocketNIO

/// The channels of a server: bounded in number, and ended together.
final class ChannelRegistry: Sendable {
    private struct Member {
        let channel: any Channel
        /// Nil before its handshake, and after its end.
        var socket: WebSocketChannel?
        /// Another server answers its request.
        var isGuest = false
        /// Where it comes from, if that is counted.
        let address: String?
    }
    private struct State {
        var members: [ObjectIdentifier: Member] = [:]
        var byAddress: [String: Int] = [:]
        /// Those that are to be told that there are too many.
        var rejected: [ObjectIdentifier: any Channel] = [:]
        var socketCount = 0
        var guestCount = 0
        var isClosing = false
        /// Who waits for the last socket to end.
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

        /// Who is to be told that no socket is left and none will come.
        mutating func takeDrained() -> CheckedContinuation<Void, Never>? {
            isClosing && socketCount == 0 && guestCount == 0 ? onDrained.take() : nil
        }
    }
    private let state = LockedValue(State())
    /// How many channels it takes.
    let capacity: Int
    /// How many of them one address may have; nil: all.
    let perAddress: Int?

    /// Takes so many channels, and so many of an address.
    init(capacity: Int, perAddress: Int? = nil) { (self.capacity, self.perAddress) = (capacity, perAddress) }

    /// Takes as many channels as a configuration says, and as the process has descriptors for.
    ///
    /// - Parameter descriptors: Those that connections may have; when they are used up the server accepts nobody, see ``AcceptGate``.
    convenience init(_ configuration: WebSocketServerConfiguration, descriptors: Int = AcceptGate.places) {
        // Connections that are told that there are too many have descriptors, too.
        let places = max(descriptors - Self.rejectedCapacity, descriptors / 2, 1)
        // Streams of HTTP/2 have none.
        let isShared = configuration.httpVersion != .http1
        // An address leaves 1,024 to others, or half of what there is.
        let share = max(places / 2, places - 1024, 1)
        self.init(
            capacity: isShared ? configuration.maximumConnections : min(configuration.maximumConnections, places),
            perAddress: configuration.maximumConnectionsPerAddress.map { min($0, share) })
    }

    var count: Int { state.withLockedValue(\.members.count) }
    /// Those that were taken and have not closed.
    var all: [any Channel] { state.withLockedValue { $0.members.values.map(\.channel) } }
    /// How many requests another server is answering.
    var guestCount: Int { state.withLockedValue(\.guestCount) }

    /// Whether it takes no more.
    var isClosing: Bool { state.withLockedValue(\.isClosing) }

    /// What becomes of a new channel.
    enum Welcome {
        case open
        /// There are too many: it is told so.
        case rejected
        /// There are too many even of those, or of its address: it is closed without a word.
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

    /// Counts a connection in until its end; false if the server is closing, and it has to be told so.
    func open(_ socket: WebSocketChannel) -> Bool {
        state.withLockedValue { state in
            state.set(socket, of: socket.id)
            return !state.isClosing
        }
    }

    /// Another server answers a request of a connection; false if it is closing, or this server is.
    func host(_ channel: any Channel) -> Bool {
        state.withLockedValue { state in
            guard !state.isClosing, let index = state.members.index(forKey: ObjectIdentifier(channel)) else { return false }
            if !state.members.values[index].isGuest { state.guestCount += 1 }
            state.members.values[index].isGuest = true
            return true
        }
    }

    /// The request is answered.
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

    /// Counts a connection out.
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

    /// Says goodbye to every client (1001).
    func close() async {
        let (sockets, others, drained) = state.withLockedValue { state in
            state.isClosing = true
            let others = state.members.values.compactMap { $0.socket == nil ? $0.channel : nil }
            return (state.members.values.compactMap(\.socket), others, state.takeDrained())
        }
        drained?.resume()
        // Those that speak HTTP/2, or to another server, take no more requests.
        for channel in others { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        await withDiscardingTaskGroup { group in
            for socket in sockets { group.addTask { _ = await socket.close(.shutdown) } }
        }
    }

    /// Drops whatever is left, such as clients that are still shaking hands.
    func drop() {
        for channel in state.withLockedValue({ $0.members.values.map(\.channel) + Array($0.rejected.values) }) {
            channel.close(promise: nil)
        }
    }
}

extension CloseFrame {
    static let shutdown = CloseFrame(.goingAway, reason: "the server shuts down")
}
