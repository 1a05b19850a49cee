package import MachineCore
package import WebSocketCore

/// Keeps messages until the server acknowledges them: the rules of an outbox, without sockets, files and tasks.
///
/// The app names a message by its id, and may use an id again once the message before is over. So everything that takes time names a
/// message by its serial number.
///
/// | Promise | Rule |
/// |---|---|
/// | nothing is sent that could be forgotten | a message waits until it is stored |
/// | messages leave in the order of `add` | the first that may be sent is the next; one that is not stored yet holds up those behind it |
/// | a loss costs nothing | after `connected` all that is not acknowledged is sent again, in order |
/// | a lost answer costs time only | what is on its way for too long is sent again on the same connection |
/// | a message is not given up before it left | only what the connection took counts as an attempt |
/// | an answer ends nothing that was not sent | one for a message that was never handed over is for an earlier one with its id |
/// | memory is bounded | `add` is refused beyond the capacity |
package struct OutboxMachine<ID: Hashable & Sendable>: Machine {
    package enum Input: Sendable {
        /// A message comes in; it is sent once it is stored.
        case add(ID, Message)
        case stored(UInt64)
        /// It could not be stored: it was never there.
        case unstored(UInt64)
        /// There is another connection.
        case connected
        /// The connection takes another message.
        case take
        /// The connection has taken this one.
        case sent(UInt64)
        /// The connection did not take it; the next one may.
        case unsent(UInt64)
        /// No connection ever takes it.
        case unsendable(UInt64, reason: String)
        case answered(OutboxAnswer<ID>)
        case withdraw(ID)
    }
    package enum Effect: Sendable {
        /// A message has its place: it is to be stored under this number, which is greater than those before.
        case accepted(serial: UInt64)
        /// There is one with this id already, and this one has not got a place.
        case duplicate
        /// There is no room, and it has not got a place.
        case full
        /// Hands this one to the present connection, which answers with `sent`, `unsent` or `unsendable`.
        case send(serial: UInt64, Message)
        /// A message is over, and need not be stored any more.
        case ended(serial: UInt64, ID, OutboxOutcome)
        /// Something may be taken.
        case due
    }
    private enum Progress: Equatable {
        case storing
        case ready
        /// The connection has it in its hands.
        case handed
        /// It is on its way, and is sent again at this time.
        case sent(again: Moment)

        var isOnItsWay: Bool { self != .storing && self != .ready }
    }
    private struct Entry {
        let serial: UInt64
        let id: ID
        let message: Message
        var progress: Progress
        /// Whether the server may have it, from this run or an earlier one.
        var mayBeThere: Bool
        /// How often a connection took it.
        var sends = 0
    }

    private let policy: OutboxPolicy
    /// In the order of their serial numbers.
    private var entries: [Entry] = []
    private var serials: [ID: UInt64] = [:]
    private var lastSerial: UInt64 = 0
    private var onTheirWay = 0
    /// How much is kept.
    package private(set) var volume = SendVolume()

    /// - Parameter stored: What an earlier run left, in the order in which it was added; its capacity is not asked.
    package init(_ policy: OutboxPolicy, stored: [(serial: UInt64, id: ID, message: Message)] = []) {
        self.policy = policy
        for (serial, id, message) in stored where serial > lastSerial && serials[id] == nil {
            append(Entry(serial: serial, id: id, message: message, progress: .ready, mayBeThere: true))
        }
    }

    /// What is kept, in order.
    package var messages: [(id: ID, message: Message)] { entries.map { ($0.id, $0.message) } }

    package var isEmpty: Bool { entries.isEmpty }

    package func contains(_ id: ID) -> Bool { serials[id] != nil }

    package func contains(serial: UInt64) -> Bool { place(of: serial) != nil }

    package var deadline: Moment? {
        var (left, first) = (onTheirWay, Moment?.none)
        for entry in entries where entry.progress.isOnItsWay {
            if case .sent(let again) = entry.progress { first = min(first ?? again, again) }
            left -= 1
            // What is on its way stands before what waits, so that this does not go through all.
            if left == 0 { break }
        }
        return first
    }

    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .add(let id, let message): add(id, message, &effects)
        case .stored(let serial):
            guard let place = place(of: serial), entries[place].progress == .storing else { return }
            entries[place].progress = .ready
            effects.append(.due)
        case .unstored(let serial):
            if let place = place(of: serial) { remove(at: place) }
            // What was behind it may go now.
            effects.append(.due)
        case .connected:
            for place in entries.indices where entries[place].progress.isOnItsWay { entries[place].progress = .ready }
            onTheirWay = 0
            effects.append(.due)
        case .take: take(&effects)
        case .sent(let serial): handedOver(serial, isSent: true, now)
        case .unsent(let serial): handedOver(serial, isSent: false, now)
        case .unsendable(let serial, let reason): end(place(of: serial), .refused(reason: reason), &effects)
        case .answered(let answer): hear(answer, &effects)
        case .withdraw(let id): end(place(of: id), .withdrawn, &effects)
        }
    }

    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        var isDue = false
        for place in entries.indices {
            guard case .sent(let again) = entries[place].progress, again <= now else { continue }
            entries[place].progress = .ready
            onTheirWay -= 1
            isDue = true
        }
        if isDue { effects.append(.due) }
    }

    private mutating func add(_ id: ID, _ message: Message, _ effects: inout [Effect]) {
        guard !contains(id) else { return effects.append(.duplicate) }
        guard (volume + message.volume).fits(in: policy.capacity) else { return effects.append(.full) }
        append(Entry(serial: lastSerial + 1, id: id, message: message, progress: .storing, mayBeThere: false))
        effects.append(.accepted(serial: lastSerial))
    }

    private mutating func take(_ effects: inout [Effect]) {
        while onTheirWay < max(policy.window, 1), let place = entries.firstIndex(where: { !$0.progress.isOnItsWay }) {
            guard entries[place].progress == .ready else { return }
            if let attempts = policy.attempts, entries[place].sends >= attempts {
                end(place, .givenUp, &effects)
                continue
            }
            entries[place].progress = .handed
            entries[place].mayBeThere = true
            onTheirWay += 1
            return effects.append(.send(serial: entries[place].serial, entries[place].message))
        }
    }

    private mutating func handedOver(_ serial: UInt64, isSent: Bool, _ now: Moment) {
        guard let place = place(of: serial), entries[place].progress == .handed else { return }
        entries[place].progress = .sent(again: now + policy.wait(after: entries[place].sends))
        if isSent { entries[place].sends += 1 }
    }

    private mutating func hear(_ answer: OutboxAnswer<ID>, _ effects: inout [Effect]) {
        switch answer {
        case .acknowledged(let id): end(sentPlace(of: id), .acknowledged, &effects)
        case .refused(let id, let reason): end(sentPlace(of: id), .refused(reason: reason), &effects)
        case .acknowledgedThrough(let id):
            guard let last = place(of: id) else { return }
            for serial in entries.prefix(through: last).filter(\.mayBeThere).map(\.serial) {
                end(place(of: serial), .acknowledged, &effects)
            }
        }
    }

    private mutating func end(_ place: Int?, _ outcome: OutboxOutcome, _ effects: inout [Effect]) {
        guard let place else { return }
        effects.append(.ended(serial: entries[place].serial, entries[place].id, outcome))
        remove(at: place)
        effects.append(.due)
    }

    // MARK: - Entries

    private func place(of id: ID) -> Int? { serials[id].flatMap { place(of: $0) } }

    private func sentPlace(of id: ID) -> Int? { place(of: id).flatMap { entries[$0].mayBeThere ? $0 : nil } }

    private func place(of serial: UInt64) -> Int? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].serial < serial { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].serial == serial ? low : nil
    }

    private mutating func append(_ entry: Entry) {
        (lastSerial, serials[entry.id]) = (entry.serial, entry.serial)
        volume += entry.message.volume
        entries.append(entry)
    }

    private mutating func remove(at place: Int) {
        let entry = entries.remove(at: place)
        if entry.progress.isOnItsWay { onTheirWay -= 1 }
        serials[entry.id] = nil
        volume -= entry.message.volume
    }
}

extension Message {
    fileprivate var volume: SendVolume { SendVolume(count: 1, bytes: byteCount) }
}

/// How much an outbox keeps, and how it sends.
public struct OutboxPolicy: Hashable, Sendable {
    /// How much may wait for its acknowledgement; by default 1,000 messages with 4 MiB.
    public var capacity: SendVolume
    /// How many messages may be on their way at once; by default 64, at least 1.
    public var window: Int
    /// How long a message may be on its way on a connection that stays, before it is sent again; by default 15 s, at least 100 ms.
    ///
    /// The time counts from when the connection took the message. Each time it is sent again the time doubles, up to 16 times this. After
    /// a loss everything is sent again at once.
    public var resendAfter: Duration
    /// How often a connection may take a message before it is given up; nil, the default: until it is acknowledged.
    public var attempts: Int?

    /// A policy with these values.
    public init(
        capacity: SendVolume = SendVolume(count: 1000, bytes: 4 << 20), window: Int = 64, resendAfter: Duration = .seconds(15),
        attempts: Int? = nil
    ) {
        (self.capacity, self.window, self.resendAfter, self.attempts) = (capacity, window, resendAfter, attempts)
    }

    /// How long a message is on its way before it is sent again, when it was sent so often before.
    fileprivate func wait(after sends: Int) -> Duration {
        let first = max(resendAfter, .milliseconds(100))
        return Backoff(base: first, cap: first * 16).ceiling(attempt: sends + 1)
    }
}

/// What a server says of messages of an outbox.
public enum OutboxAnswer<ID: Hashable & Sendable>: Hashable, Sendable {
    /// It has the message.
    case acknowledged(ID)
    /// It has this message, and all that were added before it.
    case acknowledgedThrough(ID)
    /// It does not want the message, so that there is no point in sending it again.
    case refused(ID, reason: String)
}

/// How a message of an outbox ended.
public enum OutboxOutcome: Hashable, Sendable {
    /// The server has it.
    case acknowledged
    /// The server does not want it, or it is longer than the connection takes.
    case refused(reason: String)
    /// It was sent as often as ``OutboxPolicy/attempts`` allows, and nobody acknowledged it.
    case givenUp
    /// The app took it back; the server may have it nevertheless.
    case withdrawn
}
