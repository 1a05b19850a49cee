package import MachineCore
import ProtocolCore

/// The client's side of the rooms protocol (docs/rooms-protocol.md): outboxes, cursors, presence, over connections that come and go.
///
/// What it orders to be written counts as written from then on, so that it never waits for the disk; but nothing is told to the app, and no
/// message is sent, before it is. If a transaction fails, the rooms that it and the later ones touch are read again.
package struct RoomsMachine: ProtocolMachine {
    package typealias Greeting = RoomsGreeting
    package typealias Received = HubFrame
    package typealias Sent = ClientFrame
    package typealias Command = RoomsCommand
    package typealias Event = RoomsEvent
    package typealias Input = RoomsInput
    package typealias Effect = RoomsEffect

    private(set) var policy: RoomsPolicy
    /// The present incarnation of the store; nil before that is open.
    package internal(set) var device: DeviceID?
    /// What the app wanted before the store was open.
    private var early: [RoomsCommand] = []
    var generator: SplitMix64
    var clock = ClientClock()
    var link = HubLink()
    /// In the order in which they came; `places` finds them.
    var seats: [RoomSeat] = []
    var places: [RoomName: Int] = [:]
    var ledger = CommitLedger()
    var renewal: Renewal?
    /// Rooms that are not joined, but may have something in their outbox.
    var sleepers: Set<RoomName> = []
    var questions: [PageQuestion] = []
    var lastQuestion: Int64 = 0
    /// Whether the connection's window kept a room from sending.
    var isTight = false
    /// Transactions in a row that failed.
    var storeFailures = 0
    /// Not later than the next deadline.
    var alarm: Moment?

    /// A client whose store is not open yet; the seed must be another one each time.
    package init(policy: RoomsPolicy = RoomsPolicy(), seed: UInt64) { (self.policy, generator) = (policy, SplitMix64(seed: seed)) }

    package var deadline: Moment? { alarm }
    /// The number of the last transaction that was ordered.
    package var lastCommit: Int64 { ledger.next - 1 }

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
            // Another connection may reach a hub that does not talk nonsense.
            drop(at: now, into: &effects)
            effects.append(.end(.rejected("what it sent is no frame of the protocol")))
        case .paused, .resumed: break
        case .command(.calendar(let milliseconds)): clock.read(calendar: milliseconds, at: now)
        case .command(.storeOpened(let device, let keeps, let waiting)):
            openStore(device, keeps: keeps, waiting: waiting, at: now, into: &effects)
        case .command(let command):
            guard device == nil else { return handle(command, at: now, into: &effects) }
            switch command {
            case .typing, .signal: break  // Nobody would hear of it.
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
        case .join(let room, let wish): join(room, wish, at: now, into: &effects)
        case .leave(let room): leave(room, forgets: false, at: now, into: &effects)
        case .forget(let room): leave(room, forgets: true, at: now, into: &effects)
        case .farewell: sayFarewell(at: now, into: &effects)
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

    // MARK: Small words

    /// Makes sure to be woken then.
    mutating func remind(at moment: Moment) { alarm = alarm.map { min($0, moment) } ?? moment }

    func wait(_ milliseconds: Int64) -> Duration {
        min(max(.milliseconds(min(max(milliseconds, 0), 1 << 40)), policy.leastPause), policy.longestPause)
    }

    /// Tells where a room stands, if that is news.
    mutating func tell(_ phase: RoomPhase, of place: Int, into effects: inout [RoomsEffect]) {
        guard seats[place].isWanted, seats[place].told != phase else { return }
        seats[place].told = phase
        effects.append(.news(.phase(seats[place].room, phase)))
    }

    /// Tells it once all that was ordered so far for its room is on disk.
    mutating func tellOnceWritten(_ news: RoomsNews, of place: Int, into effects: inout [RoomsEffect]) {
        if seats[place].unwritten == 0 || !ledger.tell(news, after: seats[place].room) { effects.append(.news(news)) }
    }

    /// Orders a transaction.
    mutating func order(_ commit: CommitLedger.Pending, _ changes: [StoreChange], into effects: inout [RoomsEffect]) {
        for room in commit.rooms {
            guard let place = places[room] else { continue }
            seats[place].unwritten += 1
            seats[place].unwrittenEntries += commit.entries
            seats[place].unwrittenBytes += commit.bytes
        }
        ledger.order(commit)
        effects.append(.commit(commit.number, changes))
    }

    func pending(
        _ room: RoomName, news: [RoomsNews] = [], regrets: [CommitLedger.Regret] = [], entries: ArraySlice<Entry> = []
    ) -> CommitLedger.Pending {
        CommitLedger.Pending(
            number: ledger.next, rooms: [room], news: news, regrets: regrets, entries: entries.count,
            bytes: entries.reduce(0) { $0 + $1.payload.bytes.count })
    }
}
