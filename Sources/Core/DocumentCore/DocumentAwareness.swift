public import MachineCore

/// Who is here, with their carets, names and colours: what editors share beside the document (y-protocols: awareness.js).
///
/// Each client has one state, a JSON object. It is renewed every 15 seconds, and dropped 30 seconds after the last sign of its client.
/// Call ``wake(at:)`` at ``deadline``.
public struct DocumentAwareness: Sendable {
    private struct Peer {
        var clock: UInt64
        var state: DocumentValue?
        var seen: Moment
        /// The bytes of the state as it came.
        var size = 0
    }

    /// Whose states have changed.
    public struct Change: Hashable, Sendable {
        /// Clients that have come.
        public var added: [UInt64] = []
        /// Clients with a new state.
        public var updated: [UInt64] = []
        /// Clients that have left.
        public var removed: [UInt64] = []
        /// What has to be sent to the others, because one of them took this client for gone.
        public var answer: [UInt8]?
    }

    /// The time after which the own state is sent again.
    public static let renewal = Duration.seconds(15)
    /// The time without a sign after which a client counts as gone.
    public static let timeout = Duration.seconds(30)
    /// The most clients whose states are kept.
    ///
    /// Further ones are ignored.
    public static let maximumClients = 10_000
    /// The most bytes of one state.
    ///
    /// A longer one is refused.
    public static let maximumStateSize = 64 << 10
    /// The most bytes of the states of all others.
    ///
    /// A state for which there is no room is ignored, as if its client were one too many.
    public static let maximumSize = 16 << 20

    /// The client of this copy.
    public let client: UInt64
    private var peers: [UInt64: Peer] = [:]
    /// The sum of ``Peer/size``.
    private var size = 0

    /// Creates the states with nobody but this client, which has no state yet.
    public init(client: UInt64) { self.client = client }

    /// The states of all clients that are here, this one included.
    public var states: [UInt64: DocumentValue] { peers.compactMapValues(\.state) }

    /// Sets the own state, or leaves with nil.
    ///
    /// The first clock is 1, because y-protocols takes 0 for known. Returns the update for the others.
    public mutating func set(_ state: DocumentValue?, at moment: Moment) -> [UInt8] {
        peers[client] = Peer(clock: peers[client].map { $0.clock + 1 } ?? 1, state: state, seen: moment)
        return update(of: [client])
    }

    /// An update with the states of these clients, or of all that are here.
    ///
    /// Clients that left count as gone.
    public func update(of clients: [UInt64]? = nil) -> [UInt8] {
        let clients = (clients ?? peers.filter { $0.value.state != nil }.keys.sorted()).filter { peers[$0] != nil }
        var writer = Lib0Writer()
        writer.uint(clients.count)
        for client in clients {
            guard let peer = peers[client] else { continue }
            writer.uint(client)
            writer.uint(peer.clock)
            writer.string(peer.state?.json ?? "null")
        }
        return writer.bytes
    }

    /// Applies an update of another client or a server.
    ///
    /// - Throws: A ``DocumentError`` if it cannot be read. No state has changed then.
    public mutating func apply(_ bytes: [UInt8], at moment: Moment) throws(DocumentError) -> Change {
        var reader = Lib0Reader(bytes), read: [(client: UInt64, clock: UInt64, state: DocumentValue, size: Int)] = []
        for _ in 0..<(try reader.count()) {
            let client = try reader.uint(), clock = try reader.uint(), start = reader.position
            let state = try reader.json()
            guard reader.position - start <= Self.maximumStateSize else { throw DocumentError(.tooLarge, at: start) }
            read.append((client, clock, state, reader.position - start))
        }
        var change = Change()
        for (client, clock, state, size) in read {
            take(client, Peer(clock: clock, state: state.isNull ? nil : state, seen: moment, size: size), &change)
        }
        return change
    }

    private mutating func take(_ client: UInt64, _ new: Peer, _ change: inout Change) {
        // No client comes near this clock by itself, and the answer to it must have a higher one.
        guard new.clock < 1 << 52 else { return }
        let known = peers[client]
        // Anyone may say that a client is gone, with the clock of its last state.
        guard
            known.map({ $0.clock < new.clock || ($0.clock == new.clock && new.state == nil && $0.state != nil) })
                ?? (new.clock > 0 || new.state != nil)
        else { return }
        if client == self.client {
            // Another takes this client for gone, or has its identity. Its own state is the newer one.
            guard let own = known?.state else { return }
            peers[client] = Peer(clock: new.clock + 1, state: own, seen: new.seen)
            change.answer = update(of: [client])
            return
        }
        let growth = new.size - (known?.size ?? 0)
        guard known != nil || peers.count < Self.maximumClients, growth <= 0 || size + growth <= Self.maximumSize else { return }
        peers[client] = new
        size += growth
        switch (known?.state, new.state) {
        case (nil, nil): break
        case (nil, _): change.added.append(client)
        case (_, nil): change.removed.append(client)
        case (let old, let new): if old != new { change.updated.append(client) }
        }
    }

    /// The states of the others, for a copy with a new identity.
    ///
    /// What the old identity showed belongs to its other owner.
    func renamed(to client: UInt64) -> DocumentAwareness {
        var renamed = DocumentAwareness(client: client)
        renamed.peers = peers.filter { $0.key != client }
        renamed.size = renamed.peers.values.reduce(0) { $0 + $1.size }
        return renamed
    }

    /// Drops all others, because the connection is lost: who is still here says so again on the next one.
    public mutating func disconnect() -> Change {
        let others = peers.filter { $0.key != client }
        peers = peers.filter { $0.key == client }
        size = 0
        return Change(removed: others.filter { $0.value.state != nil }.keys.sorted())
    }

    /// When ``wake(at:)`` has something to do.
    public var deadline: Moment? {
        peers.compactMap { key, peer in
            key == client ? (peer.state == nil ? nil : peer.seen + Self.renewal) : peer.seen + Self.timeout
        }.min()
    }

    /// Drops clients that gave no sign for 30 seconds, and renews the own state.
    ///
    /// Returns what changed; ``Change/answer`` is to be sent.
    public mutating func wake(at moment: Moment) -> Change {
        var change = Change()
        for (client, peer) in peers where client != self.client && peer.seen + Self.timeout <= moment {
            if peer.state != nil { change.removed.append(client) }
            peers[client] = nil
            size -= peer.size
        }
        change.removed.sort()
        if let own = peers[client], own.state != nil, own.seen + Self.renewal <= moment { change.answer = set(own.state, at: moment) }
        return change
    }
}
