import DequeModule
import Foundation
import Holdfast
import MachineCore
import WebSocketRuntime
import RoomCore

/// What the app asks for.
extension RoomsDesk {
    /// Runs what asks the store; what goes wrong there is told as an error of rooms.
    func reading<Value>(_ body: () async throws -> Value) async throws(RoomsError) -> Value {
        do { return try await body() } catch is CancellationError { throw .cancelled } catch { throw .store("\(error)") }
    }

    func join(_ room: RoomName, _ wish: JoinWish) async throws(RoomsError) {
        let changes = state.withLockedValue { state in
            var book = state.books[room] ?? RoomBook()
            book.startsAtBeginning = wish.start == .beginning
            state.books[room] = book
            return book.changes
        }
        change { state, now in
            if state.books[room]?.status.phase == .left { state.books[room]?.status.phase = .loading }
            Self.tell(.join(room, wish), &state, now)
        }
        try await wait(
            for: "reading the room", isLocal: true, on: changes, within: options.storePatience
        ) { () throws(RoomsError) -> Void? in
            let (isLoaded, ending) = state.withLockedValue { ($0.books[room]?.isLoaded ?? false, $0.ending) }
            if isLoaded { return () }
            if let ending { throw ending }
            return nil
        }
    }

    func leave(_ room: RoomName) {
        change { state, now in
            Self.tell(.leave(room), &state, now)
            state.books[room]?.leave()
            wake(room, &state)
        }
    }

    // MARK: - Messages

    /// Puts a message into the outbox; returns when it is on disk.
    func submit(_ room: RoomName, _ content: Publication.Content, id: MessageID? = nil) async throws(RoomsError) -> Receipt {
        var generator = SystemRandomNumberGenerator()
        let sent = calendar()
        let id = id ?? MessageID(at: sent, using: &generator)
        let made = Receipt(id: id, room: room, stage: .submitted, desk: self)
        var receipt = made
        change { state, now in
            // Submitted again it is the same message, also while its entry is still to come.
            if let waiting = state.books[room]?.status.outbox.first(where: { $0.id == id }) {
                if let known = state.books[room]?.receipt(id) { return receipt = known }
                made.note(waiting.stage)
                if state.isOver { made.end(state.ending ?? .closed) }
                state.books[room]?.add(made)
                return
            }
            // Also while the socket is still closing: nothing is sent any more.
            if let ending = state.ending {
                if case .closed = ending { return made.end(.notQueued(.closed)) }
                return made.end(ending)
            }
            state.books[room]?.add(made)
            state.books[room]?.status.outbox.append(PendingMessage(id: id, sent: sent, content: content, stage: .submitted))
            wake(room, &state)
            Self.tell(.submit(room, id, sent: sent, content), &state, now)
        }
        return try await written(receipt)
    }

    /// Waits until a message is in the outbox, on disk.
    private func written(_ receipt: Receipt) async throws(RoomsError) -> Receipt {
        try await wait(
            for: "writing the message", isLocal: true, on: receipt.changes, within: options.storePatience
        ) { () throws(RoomsError) -> Void? in
            if receipt.stage != .submitted { return () }
            if let ending = receipt.ending { throw ending }
            return nil
        }
        return receipt
    }

    func receipt(_ room: RoomName, _ id: MessageID) -> Receipt? {
        // Made without the lock: one that is not needed must not go while it is held.
        let made = Receipt(id: id, room: room, stage: .queued, desk: self)
        return state.withLockedValue { state -> Receipt? in
            if let receipt = state.books[room]?.receipt(id) { return receipt }
            guard let message = state.books[room]?.status.outbox.first(where: { $0.id == id }) else { return nil }
            made.note(message.stage)
            if state.isOver { made.end(state.ending ?? .closed) }
            state.books[room]?.add(made)
            return made
        }
    }

    /// Sends a failed message after all; whoever waits for it waits from here on for what becomes of that.
    func retry(_ id: MessageID) throws(RoomsError) {
        var isKnown = false
        change { state, now in
            guard !state.isOver, let room = Self.room(of: id, state, where: { $0.failure != nil }) else { return }
            isKnown = true
            state.books[room]?.retry(id)
            if let receipt = state.books[room]?.receipt(id) {
                receipt.note(.submitted)
                state.receipts.append(receipt)
                state.woken.append(receipt.changes)
            }
            wake(room, &state)
            Self.tell(.retry(room, id), &state, now)
        }
        if let ending { throw ending }
        if !isKnown { throw .unknownMessage(id) }
    }

    func discard(_ id: MessageID) throws(RoomsError) {
        if let ending { throw ending }
        let room = state.withLockedValue { state in Self.room(of: id, state, where: { $0.position == nil }) }
        guard let room else { throw .unknownMessage(id) }
        tell(.discard(room, id))
    }

    private static func room(of id: MessageID, _ state: State, where fits: (DeliveryStage) -> Bool) -> RoomName? {
        state.books.first { $0.value.status.outbox.contains { $0.id == id && fits($0.stage) } }?.key
    }

    // MARK: - Older entries

    /// What is stored before a place, or else what the hub has.
    func earlier(_ room: RoomName, before: Int64, limit: Int, within patience: Duration) async throws(RoomsError) -> RoomPage {
        let stored = try await reading { try await store.entries(room, before: before, limit: limit) }
        if !stored.isEmpty { return RoomPage(entries: stored, reachedBeginning: stored.first?.seq == 1) }
        if before <= 1 { return RoomPage(entries: [], reachedBeginning: true) }
        var number: Int64 = 0
        var changes: Changes?
        change { state, now in
            state.lastPage += 1
            number = state.lastPage
            changes = state.books[room]?.changes
            state.books[room]?.pages[number] = .some(nil)
            Self.tell(.history(room, reference: number, before: before, limit: Int64(clamping: limit)), &state, now)
        }
        defer { state.withLockedValue { _ = $0.books[room]?.pages.removeValue(forKey: number) } }
        guard let changes else { throw .left }
        return try await wait(for: "the history", on: changes, within: patience) { [number] () throws(RoomsError) -> RoomPage? in
            let (outcome, ending) = state.withLockedValue { ($0.books[room]?.pages[number] ?? nil, $0.ending) }
            switch outcome {
            case .page(let entries, let reachedBeginning)?: return RoomPage(entries: entries, reachedBeginning: reachedBeginning)
            case .none(let refusal?)?: throw .refused(refusal)
            case .some(.none(nil)): throw .timedOut("the history", cause: obstacle)
            case nil: break
            }
            if let ending { throw ending }
            return nil
        }
    }

    /// How many messages of others are stored after the own read marker.
    func unread(_ room: RoomName) async throws(RoomsError) -> Int {
        let (status, user, device) = state.withLockedValue { ($0.books[room]?.status ?? RoomStatus(), $0.user, $0.device) }
        var (count, before) = (0, Int64?.none)
        while true {
            let page = try await reading { try await store.entries(room, before: before, limit: 200) }
            count += page.count { $0.seq > status.read && $0.countsAsUnread(for: user, device) }
            guard let first = page.first, first.seq > status.read + 1 else { return count }
            before = first.seq
        }
    }

    // MARK: - Signals

    func signals(_ room: RoomName) -> AsyncStream<ReceivedSignal> {
        let (stream, continuation) = AsyncStream.makeStream(of: ReceivedSignal.self, bufferingPolicy: .bufferingNewest(64))
        let number = state.withLockedValue { state -> UInt64? in
            guard !state.isOver, state.books[room] != nil else { return nil }
            state.lastNumber += 1
            state.books[room]?.signals[state.lastNumber] = continuation
            return state.lastNumber
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            let gone = self?.state.withLockedValue { $0.books[room]?.signals.removeValue(forKey: number) }
            withExtendedLifetime(gone) {}
        }
        return stream
    }

    // MARK: - Readers

    /// What a reader does next.
    enum ReaderStep {
        case update(RoomUpdate)
        case read(after: LogPosition, generation: UInt64)
        case wait(UInt64)
        case end(RoomsError)
    }

    func addReader(_ room: RoomName, after wish: LogPosition?) -> (number: UInt64, changes: Changes) {
        let changes = Changes()
        let number = state.withLockedValue { state in
            state.lastNumber += 1
            state.books[room]?.readers[state.lastNumber] = RoomBook.Reading(wish: wish, changes: changes)
            return state.lastNumber
        }
        return (number, changes)
    }

    func removeReader(_ room: RoomName, _ number: UInt64) {
        state.withLockedValue { _ = $0.books[room]?.readers.removeValue(forKey: number) }
    }

    func step(_ room: RoomName, _ number: UInt64, _ changes: Changes) -> ReaderStep {
        let version = changes.version
        return state.withLockedValue { state in
            guard let step = state.books[room]?.step(number) else { return state.isOver ? .end(state.ending ?? .closed) : .end(.left) }
            if case .wait = step {
                if state.isOver { return .end(state.ending ?? .closed) }
                switch state.books[room]?.status.phase {
                case .left: return .end(.left)
                case .refused(let refusal) where refusal.retry == .never: return .end(.refused(refusal))
                default: return .wait(version)
                }
            }
            return step
        }
    }

    /// Reads the next piece of what is stored for a reader.
    func fill(_ room: RoomName, _ number: UInt64, after position: LogPosition, generation: UInt64) async throws(RoomsError) -> RoomUpdate? {
        let limit = RoomBook.readerLimit
        if let entries = try await reading({ try await store.entries(room, after: position, limit: limit) }) {
            state.withLockedValue { $0.books[room]?.fill(number, entries, after: position.seq, generation: generation) }
            return nil
        }
        // The store has let go of what this reader had not taken yet, or of all.
        let first = try await reading { try await store.room(room) }.first
        return state.withLockedValue { $0.books[room]?.skip(number, after: position.seq, to: first, generation: generation) }
    }
}

extension RoomBook {
    /// What a reader does next; nil if there is no such reader.
    mutating func step(_ number: UInt64) -> RoomsDesk.ReaderStep? {
        guard var reading = readers[number] else { return nil }
        guard isLoaded else { return .wait(0) }
        if isFilling, !reading.hasBegun, reading.wish == nil { return .wait(0) }
        if reading.generation != generation { return begin(number, reading) }
        if let entry = reading.ready.popFirst() {
            (reading.seq, reading.hasBegun) = (entry.seq, true)
            readers[number] = reading
            return .update(.entry(entry))
        }
        guard reading.seq < status.cursor.seq else { return .wait(0) }
        return .read(after: LogPosition(epoch: status.cursor.epoch, seq: reading.seq), generation: generation)
    }

    /// A reader begins, or begins anew because what was stored is replaced.
    private mutating func begin(_ number: UInt64, _ old: Reading) -> RoomsDesk.ReaderStep? {
        var reading = old
        reading.generation = generation
        reading.ready.removeAll()
        reading.seq = status.first - 1
        var isContinued = !old.hasBegun && (old.generation == nil || old.wish == nil)
        if old.generation == nil, let wish = old.wish, wish != .nowhere {
            isContinued = wish.epoch == status.cursor.epoch && (status.first - 1...status.cursor.seq).contains(wish.seq)
            if isContinued { reading.seq = wish.seq }
        }
        readers[number] = reading
        return isContinued ? step(number) : .update(.replaced(status.cursor))
    }

    /// Gives a reader what the store had.
    mutating func fill(_ number: UInt64, _ entries: [Entry], after: Int64, generation: UInt64) {
        guard let reading = readers[number], reading.generation == generation, self.generation == generation, reading.seq == after,
            reading.ready.isEmpty, entries.first?.seq == after + 1
        else { return }
        readers[number]?.ready = Deque(entries)
    }

    /// Leads a reader over a hole.
    mutating func skip(_ number: UInt64, after: Int64, to first: Int64, generation: UInt64) -> RoomUpdate? {
        guard let reading = readers[number], reading.generation == generation, self.generation == generation, reading.seq == after,
            first > after + 1
        else { return nil }
        status.first = max(first, status.first)
        readers[number]?.seq = first - 1
        return .replaced(status.cursor)
    }
}
