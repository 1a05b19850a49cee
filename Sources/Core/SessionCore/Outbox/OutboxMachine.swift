package import MachineCore
package import WebSocketCore

/// Keeps messages until the server acknowledges them: the rules of an outbox, without sockets, files and tasks.
///
/// The app identifies a message by its id, and may reuse an id once the earlier message has ended. Therefore all asynchronous steps
/// identify a message by its serial number.
///
/// | Guarantee | Rule |
/// |---|---|
/// | no message is sent that a crash could lose | a message waits until it is stored |
/// | messages are sent in the order of `add` | the first sendable message is next; an unstored message holds back later ones |
/// | a lost connection loses no message | after `connected`, all unacknowledged messages are sent again, in order |
/// | a lost answer costs only time | a message that is unanswered for too long is sent again on the same connection |
/// | a message is not given up before it was sent | only messages that the connection took count as attempts |
/// | an answer ends no unsent message | an answer for a message that was never handed over belongs to an earlier one with the same id |
/// | memory is bounded | `add` is refused beyond the capacity |
package struct OutboxMachine<ID: Hashable & Sendable>: Machine {
    package enum Input: Sendable {
        /// Adds a message. It is sent once it is stored.
        case add(ID, Message)
        case stored(UInt64)
        /// The message could not be stored. It is removed as if it had never been added.
        case unstored(UInt64)
        /// A new connection is open.
        case connected
        /// The connection can take another message.
        case take
        /// The connection has taken this message.
        case sent(UInt64)
        /// The connection did not take it. The next one may.
        case unsent(UInt64)
        /// No connection can ever take it.
        case unsendable(UInt64, reason: String)
        case answered(OutboxAnswer<ID>)
        case withdraw(ID)
    }
    package enum Effect: Sendable {
        /// The message was accepted. Store it under this serial number, which is greater than all earlier ones.
        case accepted(serial: UInt64)
        /// Rejected: a message with this id already exists.
        case duplicate
        /// Rejected: the outbox is full.
        case full
        /// Hand this message to the present connection, and answer with `sent`, `unsent` or `unsendable`.
        case send(serial: UInt64, Message)
        /// A message has ended and need not be stored any more.
        case ended(serial: UInt64, ID, OutboxOutcome)
        /// A message may be ready to be taken.
        case due
    }
    private enum Progress: Equatable {
        case storing
        case ready
        /// Handed to the connection, without an answer yet.
        case handed
        /// Sent, and sent again at this moment.
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
    /// Ordered by serial number.
    private var entries: [Entry] = []
    private var serials: [ID: UInt64] = [:]
    private var lastSerial: UInt64 = 0
    private var onTheirWay = 0
    /// The number and size of the kept messages.
    package private(set) var volume = SendVolume()

    /// - Parameter stored: The messages that an earlier run left, in the order in which they were added. They may exceed the capacity.
    package init(_ policy: OutboxPolicy, stored: [(serial: UInt64, id: ID, message: Message)] = []) {
        self.policy = policy
        for (serial, id, message) in stored where serial > lastSerial && serials[id] == nil {
            append(Entry(serial: serial, id: id, message: message, progress: .ready, mayBeThere: true))
        }
    }

    /// The kept messages, in order.
    package var messages: [(id: ID, message: Message)] { entries.map { ($0.id, $0.message) } }

    package var isEmpty: Bool { entries.isEmpty }

    package func contains(_ id: ID) -> Bool { serials[id] != nil }

    package func contains(serial: UInt64) -> Bool { place(of: serial) != nil }

    package var deadline: Moment? {
        var (left, first) = (onTheirWay, Moment?.none)
        for entry in entries where entry.progress.isOnItsWay {
            if case .sent(let again) = entry.progress { first = min(first ?? again, again) }
            left -= 1
            // Messages in flight come before waiting ones, so this loop does not visit all entries.
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
            // Messages behind it may be sent now.
            effects.append(.due)
        case .connected:
            for place in entries.indices where entries[place].progress.isOnItsWay { entries[place].progress = .ready }
            onTheirWay = 0
            effects.append(.due)
        case .take: take(&effects)
        case .sent(let serial): handedOver(serial, isSent: true, now)
        case .unsent(let serial): handedOver(serial, isSent: false, now)
        case .unsendable(let serial, let reason): end(place(of: serial), .refused(reason: reason), &effects)
        case .answered(let answer): handle(answer, &effects)
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

    private mutating func handle(_ answer: OutboxAnswer<ID>, _ effects: inout [Effect]) {
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
    /// How much may wait for an acknowledgement; by default 1,000 messages and 4 MiB.
    public var capacity: SendVolume
    /// How many messages may be in flight at once; by default 64, at least 1.
    public var window: Int
    /// How long to wait for an answer on the same connection before the message is sent again; by default 15 s, at least 100 ms.
    ///
    /// The time starts when the connection takes the message. It doubles with each repetition, up to 16 times this value. After a lost
    /// connection, everything is sent again at once.
    public var resendAfter: Duration
    /// How often a connection may take a message before it is given up; nil, the default, means until it is acknowledged.
    public var attempts: Int?

    /// Creates a policy with these values.
    public init(
        capacity: SendVolume = SendVolume(count: 1000, bytes: 4 << 20), window: Int = 64, resendAfter: Duration = .seconds(15),
        attempts: Int? = nil
    ) {
        (self.capacity, self.window, self.resendAfter, self.attempts) = (capacity, window, resendAfter, attempts)
    }

    /// Returns the time until a message is sent again, after this number of earlier sends.
    fileprivate func wait(after sends: Int) -> Duration {
        let first = max(resendAfter, .milliseconds(100))
        return Backoff(base: first, cap: first * 16).ceiling(attempt: sends + 1)
    }
}

/// A server's answer about messages of an outbox.
public enum OutboxAnswer<ID: Hashable & Sendable>: Hashable, Sendable {
    /// The server has the message.
    case acknowledged(ID)
    /// The server has this message and all that were added before it.
    case acknowledgedThrough(ID)
    /// The server rejects the message, so sending it again is pointless.
    case refused(ID, reason: String)
}

/// The outcome of a message of an outbox.
public enum OutboxOutcome: Hashable, Sendable {
    /// The server has it.
    case acknowledged
    /// The server rejected it, or it is too long for the connection.
    case refused(reason: String)
    /// It was sent as often as ``OutboxPolicy/attempts`` allows, without an acknowledgement.
    case givenUp
    /// The app withdrew it. The server may have it nevertheless.
    case withdrawn
}
