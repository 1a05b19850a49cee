package import MachineCore
package import WebSocketCore

/// Keeps messages until the server acknowledges them: the rules of an outbox, without sockets, files and tasks.
///
/// | Promise | Rule |
/// |---|---|
/// | nothing is sent that could be forgotten | a message waits until it is stored |
/// | messages leave in the order of `add` | the first that may be sent is the next; one that is not stored yet holds up those behind it |
/// | a loss costs nothing | after `connected` all that is not acknowledged is sent again, in order |
/// | a lost answer costs time only | what is on its way for too long is sent again on the same connection |
/// | memory is bounded | `add` is refused beyond the capacity |
package struct OutboxMachine<ID: Hashable & Sendable>: Machine {
    package enum Input: Sendable {
        /// A message comes in; it is sent once it is stored.
        case add(ID, Message)
        case stored(ID)
        /// It could not be stored: it was never there.
        case unstored(ID)
        case answered(OutboxAnswer<ID>)
        case withdraw(ID)
        /// There is another connection.
        case connected
        /// The connection takes another message.
        case take
    }
    package enum Effect: Sendable {
        /// A message has its place: it is to be stored under this number, which is greater than those before.
        case accepted(serial: UInt64)
        /// There is one with this id already, and this one has not got a place.
        case duplicate
        /// There is no room, and it has not got a place.
        case full
        /// Sends this one over the present connection.
        case send(ID, Message)
        /// A message is over, and need not be stored any more.
        case ended(serial: UInt64, ID, OutboxOutcome)
        /// Something may be taken.
        case due
    }
    private struct Entry {
        let serial: UInt64
        let id: ID
        let message: Message
        var isStored: Bool
        /// When it is sent again; nil: as soon as it can be.
        var again: Moment?
        var sends = 0
    }

    private let policy: OutboxPolicy
    private var entries: [Entry] = []
    private var serials: [ID: UInt64] = [:]
    private var lastSerial: UInt64 = 0
    private var inFlight = 0
    /// How much is kept.
    package private(set) var volume = SendVolume()

    /// - Parameter stored: What an earlier run left, in the order in which it was added; its capacity is not asked.
    package init(_ policy: OutboxPolicy, stored: [(serial: UInt64, id: ID, message: Message)] = []) {
        self.policy = policy
        for (serial, id, message) in stored where serial > lastSerial && serials[id] == nil {
            append(Entry(serial: serial, id: id, message: message, isStored: true))
        }
    }

    /// What is kept, in order.
    package var messages: [(id: ID, message: Message)] { entries.map { ($0.id, $0.message) } }

    package var isEmpty: Bool { entries.isEmpty }

    /// Whether an answer may come.
    package var isWaiting: Bool { inFlight > 0 }

    package func contains(_ id: ID) -> Bool { serials[id] != nil }

    package var deadline: Moment? { inFlight > 0 ? entries.compactMap(\.again).min() : nil }

    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .add(let id, let message): add(id, message, &effects)
        case .stored(let id):
            guard let place = place(of: id) else { return }
            entries[place].isStored = true
            effects.append(.due)
        case .unstored(let id):
            if let place = place(of: id) { remove(at: place) }
            // What was behind it may go now.
            effects.append(.due)
        case .answered(let answer): hear(answer, &effects)
        case .withdraw(let id): end(id, .withdrawn, &effects)
        case .connected: rewind(&effects)
        case .take: take(now, &effects)
        }
    }

    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        var isDue = false
        for place in entries.indices {
            guard let again = entries[place].again, again <= now else { continue }
            entries[place].again = nil
            inFlight -= 1
            isDue = true
        }
        if isDue { effects.append(.due) }
    }

    private mutating func add(_ id: ID, _ message: Message, _ effects: inout [Effect]) {
        guard !contains(id) else { return effects.append(.duplicate) }
        guard (volume + message.volume).fits(in: policy.capacity) else { return effects.append(.full) }
        append(Entry(serial: lastSerial + 1, id: id, message: message, isStored: false))
        effects.append(.accepted(serial: lastSerial))
    }

    private mutating func hear(_ answer: OutboxAnswer<ID>, _ effects: inout [Effect]) {
        switch answer {
        case .acknowledged(let id): end(id, .acknowledged, &effects)
        case .refused(let id, let reason): end(id, .refused(reason: reason), &effects)
        case .acknowledgedThrough(let id):
            guard let last = place(of: id) else { return }
            // A server cannot have what was never sent.
            let through = entries.prefix(through: last).filter { $0.sends > 0 }.map(\.id)
            for id in through { end(id, .acknowledged, &effects) }
        }
    }

    private mutating func end(_ id: ID, _ outcome: OutboxOutcome, _ effects: inout [Effect]) {
        guard let place = place(of: id) else { return }
        effects.append(.ended(serial: entries[place].serial, id, outcome))
        remove(at: place)
        effects.append(.due)
    }

    private mutating func rewind(_ effects: inout [Effect]) {
        for place in entries.indices { entries[place].again = nil }
        inFlight = 0
        effects.append(.due)
    }

    private mutating func take(_ now: Moment, _ effects: inout [Effect]) {
        while inFlight < max(policy.window, 1), let place = entries.firstIndex(where: { $0.again == nil }) {
            guard entries[place].isStored else { return }
            if let attempts = policy.attempts, entries[place].sends >= attempts {
                end(entries[place].id, .givenUp, &effects)
                continue
            }
            entries[place].again = now + policy.resendAfter * (1 << min(entries[place].sends, 4))
            entries[place].sends += 1
            inFlight += 1
            return effects.append(.send(entries[place].id, entries[place].message))
        }
    }

    // MARK: - Entries

    private func place(of id: ID) -> Int? {
        // Answers mostly come in order, so that it is one of the first.
        serials[id].flatMap { serial in entries.firstIndex { $0.serial == serial } }
    }

    private mutating func append(_ entry: Entry) {
        (lastSerial, serials[entry.id]) = (entry.serial, entry.serial)
        volume += entry.message.volume
        entries.append(entry)
    }

    private mutating func remove(at place: Int) {
        let entry = entries.remove(at: place)
        if entry.again != nil { inFlight -= 1 }
        serials[entry.id] = nil
        volume -= entry.message.volume
    }
}

extension Message {
    fileprivate var volume: SendVolume { SendVolume(count: 1, bytes: byteCount) }
}
