package import MachineCore
import ProtocolCore

/// The client side of the rooms protocol (docs/rooms-protocol.md): outboxes, cursors and presence, across reconnects.
///
/// Ordered writes count as written at once, so the machine never waits for the disk. But it tells the app nothing and sends no message
/// before the write is on disk. If a transaction fails, the machine loads the rooms of that and all later transactions again.
package struct RoomsMachine: ProtocolMachine {
    package typealias Greeting = RoomsGreeting
    package typealias Received = HubFrame
    package typealias Sent = ClientFrame
    package typealias Command = RoomsCommand
    package typealias Event = RoomsEvent
    package typealias Input = RoomsInput
    package typealias Effect = RoomsEffect

    private(set) var policy: RoomsPolicy
    /// The current device ID of the store; nil before the store is open.
    package internal(set) var device: DeviceID?
    /// The commands that came before the store was open.
    private var early: [RoomsCommand] = []
    var generator: SplitMix64
    var clock = ClientClock()
    var link = HubLink()
    /// In the order in which they were added; `places` contains their indices.
    var clientRooms: [ClientRoom] = []
    var places: [RoomName: Int] = [:]
    var commits = CommitQueue()
    var renewal: Renewal?
    /// Rooms that are not joined, but may have messages in the outbox.
    var sleepers: Set<RoomName> = []
    var questions: [PageQuestion] = []
    var lastQuestion: Int64 = 0
    /// Whether the connection's window kept a room from sending.
    var isTight = false
    /// The number of failed transactions in a row.
    var storeFailures = 0
    /// The time of the next wake-up; not later than the next deadline.
    var alarm: Moment?

    /// Creates a client whose store is not open yet; the seed must differ each time.
    package init(policy: RoomsPolicy = RoomsPolicy(), seed: UInt64) { (self.policy, generator) = (policy, SplitMix64(seed: seed)) }

    package var deadline: Moment? { alarm }
    /// The number of the last ordered transaction.
    package var lastCommit: Int64 { commits.next - 1 }

    package mutating func handle(_ input: RoomsInput, at now: Moment, into effects: inout [RoomsEffect]) {
        switch input {
        case .opened(let greeting):
            if let calendar = greeting.calendar { clock.read(calendar: calendar, at: now) }
            open(token: greeting.token, at: now, into: &effects)
        case .lost: lose(at: now, into: &effects)
        case .received(let frame): receive(frame, at: now, into: &effects)
        case .undecodable:
            guard link.isOpen else { return }
            effects.append(.event(.unreadable))
            // A new connection may reach a hub that works.
            drop(at: now, into: &effects)
            effects.append(.end(.rejected("the hub sent an invalid frame")))
        case .paused, .resumed: break
        case .command(.calendar(let milliseconds)): clock.read(calendar: milliseconds, at: now)
        case .command(.storeOpened(let device, let keeps, let waiting)):
            openStore(device, keeps: keeps, waiting: waiting, at: now, into: &effects)
        case .command(let command):
            guard device == nil else { return handle(command, at: now, into: &effects) }
            switch command {
            case .typing, .signal: break  // The client is not connected yet.
            default: early.append(command)
            }
        }
    }

    private mutating func openStore(
        _ device: DeviceID, keeps: Int64, waiting: [RoomName], at now: Moment, into effects: inout [RoomsEffect]
    ) {
        guard self.device == nil else { return }
        self.device = device
        policy.keptEntries = min(policy.keptEntries, keeps)
        sleepers.formUnion(waiting)
        let commands = early
        early = []
        for command in commands { handle(command, at: now, into: &effects) }
        if case .holding(let token) = link.phase { greet(token: token, at: now, into: &effects) }
    }

    private mutating func handle(_ command: RoomsCommand, at now: Moment, into effects: inout [RoomsEffect]) {
        switch command {
        case .storeOpened, .calendar: break
        case .token(let token): show(token, into: &effects)
        case .join(let room, let request): join(room, request, at: now, into: &effects)
        case .leave(let room): leave(room, forgets: false, at: now, into: &effects)
        case .forget(let room): leave(room, forgets: true, at: now, into: &effects)
        case .prepareToClose: prepareToClose(at: now, into: &effects)
        case .submit(let room, let id, let sent, let content): submit(room, id, sent: sent, content, at: now, into: &effects)
        case .retry(let room, let id): act(.retry(id), in: room, at: now, into: &effects)
        case .discard(let room, let id): act(.discard(id), in: room, at: now, into: &effects)
        case .read(let room, let seq): read(room, upTo: seq, into: &effects)
        case .typing(let room, let types): type(room, types, at: now, into: &effects)
        case .presence(let room, let presence): appear(room, presence, into: &effects)
        case .signal(let room, let signal): send(signal, to: room, into: &effects)
        case .history(let room, let reference, let before, let limit):
            ask(PageQuestion(room: room, reference: reference, before: before), limit: limit, at: now, into: &effects)
        case .loaded(let room, let stored): loaded(room, stored, at: now, into: &effects)
        case .notLoaded(let room): notLoaded(room, at: now, into: &effects)
        case .committed(let number): committed(number, at: now, into: &effects)
        case .notCommitted(let number, let full): notCommitted(number, full: full, at: now, into: &effects)
        }
    }

    // MARK: Helpers

    /// Makes sure that the machine is woken at this time.
    mutating func remind(at moment: Moment) { alarm = alarm.map { min($0, moment) } ?? moment }

    func wait(_ milliseconds: Int64) -> Duration {
        min(max(.milliseconds(min(max(milliseconds, 0), 1 << 40)), policy.leastPause), policy.longestPause)
    }

    /// Reports the phase of a room, if it has changed.
    mutating func notify(_ phase: RoomPhase, of place: Int, into effects: inout [RoomsEffect]) {
        guard clientRooms[place].isWanted, clientRooms[place].told != phase else { return }
        clientRooms[place].told = phase
        effects.append(.news(.phase(clientRooms[place].room, phase)))
    }

    /// Reports news once all ordered writes of the room are on disk.
    mutating func notifyOnceWritten(_ news: RoomsNews, of place: Int, into effects: inout [RoomsEffect]) {
        if clientRooms[place].unwritten == 0 || !commits.notify(news, after: clientRooms[place].room) { effects.append(.news(news)) }
    }

    /// Orders a transaction.
    mutating func order(_ commit: CommitQueue.Pending, _ changes: [StoreChange], into effects: inout [RoomsEffect]) {
        for room in commit.rooms {
            guard let place = places[room] else { continue }
            clientRooms[place].unwritten += 1
            clientRooms[place].unwrittenEntries += commit.entries
            clientRooms[place].unwrittenBytes += commit.bytes
        }
        commits.order(commit)
        effects.append(.commit(commit.number, changes))
    }

    func pending(
        _ room: RoomName, news: [RoomsNews] = [], undos: [CommitQueue.Undo] = [], entries: ArraySlice<Entry> = []
    ) -> CommitQueue.Pending {
        CommitQueue.Pending(
            number: commits.next, rooms: [room], news: news, undos: undos, entries: entries.count,
            bytes: entries.reduce(0) { $0 + $1.payload.bytes.count })
    }
}

/// The timeouts, retry pauses and storage limits of a rooms client.
public struct RoomsPolicy: Hashable, Sendable {
    /// The name of the client program, for the hub's logs; at most 128 bytes.
    public var agent: String? = nil
    /// The maximum number of rooms that `hello` resumes; the client sends a separate `join` for each further room.
    public var joinsInHello = 100
    /// The time limit for the hub's `welcome`: 15 s.
    public var welcomeTimeout: Duration = .seconds(15)
    /// The time limit for the answer to a `join`, counted from the last answer to any `join`: 15 s.
    public var stateTimeout: Duration = .seconds(15)
    /// The time without an ack after which the client sends a publication again: 10 s.
    public var resendAfter: Duration = .seconds(10)
    /// The number of resends in a row without any ack or error after which the client drops the connection: 3.
    public var resends = 3
    /// The time limit for the answer to a history request: 15 s.
    public var historyTimeout: Duration = .seconds(15)
    /// The maximum number of pending history requests: 64.
    public var questions = 64
    /// The number of failed resumes in a row after which the client joins each room separately: 5.
    public var failedResumes = 5
    /// The pause for a room whose separate join was pending when the connection was lost, per such loss: 10 s, at most 10 min.
    public var suspicion: Duration = .seconds(10)
    /// The number of protocol violations by the hub within a minute after which the client drops the connection: 5.
    public var nonsense = 5
    /// The pause after a store failure before the client reads the room again: 1 s, doubled for each failure in a row, up to 30 s.
    public var storePause: Duration = .seconds(1)
    /// The minimum time between two attempts after the hub refused a request temporarily: 100 ms.
    public var leastPause: Duration = .milliseconds(100)
    /// The pause before the next attempt if the hub has no place for a room or a connection and names no pause: 10 s.
    public var crowdedPause: Duration = .seconds(10)
    /// The maximum pause that the client accepts from a hub: 10 min.
    public var longestPause: Duration = .seconds(600)

    /// The maximum number of messages in the outbox of a room, including failed messages: 1000.
    public var outboxCount = 1000
    /// The maximum number of bytes in the outbox of a room: 8 MiB.
    public var outboxBytes = 8 << 20
    /// The time limit to find out, while connected, which messages the hub has stored, before the client takes a new device ID: 30 s.
    public var settling: Duration = .seconds(30)

    /// The maximum number of entries of a room that wait for the store; the client requests further entries again later: 5000.
    public var unwrittenEntries = 5000
    /// The maximum number of payload bytes of a room that wait for the store: 16 MiB.
    public var unwrittenBytes = 16 << 20

    /// How long before a token expires the client asks for a new one; nil: the client uses no tokens.
    package var tokenMargin: Duration?

    /// The number of entries of a room that the store keeps.
    ///
    /// A client that starts at the beginning of a room fetches no more than this, because the store would delete the rest.
    public var keptEntries = Int64.max

    /// The interval at which the client repeats a typing notice while the user types: 3 s.
    public var typingInterval: Duration = .seconds(3)
    /// How long a user counts as typing after the last typing notice: 6 s.
    public var typingLife: Duration = .seconds(6)
    /// The maximum number of typing users that the client tracks in a room: 100.
    public var typists = 100
    /// The maximum number of present members that the client tracks in a room, whatever the hub's limit is: 2000.
    public var members = 2000
    /// The maximum number of users of a room whose read markers the client keeps: 2000.
    public var readers = 2000

    /// Creates the default policy.
    public init() {}
}
