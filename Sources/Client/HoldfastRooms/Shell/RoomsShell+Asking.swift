import Holdfast
import MachineCore
import HoldfastProtocols
import WebSocketRuntime
import RoomCore

/// What the app asks for.
extension RoomsShell {
    /// Runs what asks the store; what goes wrong there is told as an error of rooms.
    func reading<Value>(_ body: () async throws -> Value) async throws(RoomsError) -> Value {
        do { return try await body() } catch is CancellationError { throw .cancelled } catch { throw .store("\(error)") }
    }

    func join(_ room: RoomName, _ wish: JoinWish) async throws(RoomsError) {
        let changes = command { view, _ in
            var book = view.books[room] ?? RoomBook()
            book.startsAtBeginning = wish.start == .beginning
            if book.status.phase == .left { book.status.phase = .loading }
            view.books[room] = book
            return (.join(room, wish), book.changes)
        }
        try await wait(
            for: "reading the room", isLocal: true, on: changes, within: context.options.storePatience
        ) { () throws(RoomsError) -> Void? in
            let (isLoaded, ending) = access { view in (view.books[room]?.isLoaded ?? false, view.ending) }
            if isLoaded { return () }
            if let ending { throw ending }
            return nil
        }
    }

    func leave(_ room: RoomName) {
        command { view, actions in
            view.books[room]?.leave()
            view.wake(room, &actions)
            return (.leave(room), ())
        }
    }

    /// The user has read up to an entry.
    func read(_ room: RoomName, upTo seq: Int64) {
        command { view, actions in
            guard let status = view.books[room]?.status, seq > status.read, seq <= status.cursor.seq else { return (nil, ()) }
            view.books[room]?.status.read = seq
            view.wake(room, &actions)
            return (.read(room, upTo: seq), ())
        }
    }

    // MARK: - Messages

    /// Puts a message into the outbox; returns when it is on disk.
    func submit(_ room: RoomName, _ content: Publication.Content, id: MessageID? = nil) async throws(RoomsError) -> Receipt {
        var generator = SystemRandomNumberGenerator()
        let sent = context.calendar()
        let id = id ?? MessageID(at: sent, using: &generator)
        // Made without the lock: one that is not needed must not go while it is held.
        let made = Receipt(id: id, room: room, stage: .submitted, shell: self)
        let receipt = command { view, actions -> (RoomsCommand?, Receipt) in
            // Submitted again it is the same message, also while its entry is still to come.
            if view.isWaiting(id, in: room), let known = view.known(made, in: room) { return (nil, known) }
            // Also while the socket is still closing: nothing is sent any more.
            if let ending = view.ending {
                if case .closed = ending { made.end(.notQueued(.closed)) } else { made.end(ending) }
                return (nil, made)
            }
            view.books[room]?.add(made)
            view.books[room]?.status.outbox.append(PendingMessage(id: id, sent: sent, content: content, stage: .submitted))
            view.wake(room, &actions)
            return (.submit(room, id, sent: sent, content), made)
        }
        return try await written(receipt)
    }

    /// Waits until a message is in the outbox, on disk.
    private func written(_ receipt: Receipt) async throws(RoomsError) -> Receipt {
        try await wait(
            for: "writing the message", isLocal: true, on: receipt.changes, within: context.options.storePatience
        ) { () throws(RoomsError) -> Void? in
            if receipt.stage != .submitted { return () }
            if let ending = receipt.ending { throw ending }
            return nil
        }
        return receipt
    }

    func receipt(_ room: RoomName, _ id: MessageID) -> Receipt? {
        let made = Receipt(id: id, room: room, stage: .queued, shell: self)
        return access { view in view.known(made, in: room) }
    }

    /// Sends a failed message after all; whoever waits for it waits from here on for what becomes of that.
    func retry(_ id: MessageID) throws(RoomsError) {
        let isKnown = command { view, actions in
            guard !view.isOver, let room = view.room(of: id, where: { $0.failure != nil }) else { return (nil, false) }
            view.books[room]?.retry(id)
            if let receipt = view.books[room]?.receipt(id) {
                receipt.note(.submitted)
                actions += [.release(receipt), .announce(receipt.changes)]
            }
            view.wake(room, &actions)
            return (.retry(room, id), true)
        }
        if let ending { throw ending }
        if !isKnown { throw .unknownMessage(id) }
    }

    func discard(_ id: MessageID) throws(RoomsError) {
        if let ending { throw ending }
        let isKnown = command { view, _ in
            let room = view.room(of: id) { $0.position == nil }
            return (room.map { .discard($0, id) }, room != nil)
        }
        if !isKnown { throw .unknownMessage(id) }
    }

    // MARK: - Older entries

    /// What is stored before a place, or else what the hub has.
    func earlier(_ room: RoomName, before: Int64, limit: Int, within patience: Duration) async throws(RoomsError) -> RoomPage {
        let stored = try await reading { try await context.store.entries(room, before: before, limit: limit) }
        if !stored.isEmpty { return RoomPage(entries: stored, reachedBeginning: stored.first?.seq == 1) }
        if before <= 1 { return RoomPage(entries: [], reachedBeginning: true) }
        let (number, changes) = command { view, _ in
            view.lastPage += 1
            let number = view.lastPage
            view.books[room]?.pages[number] = .some(nil)
            return (.history(room, reference: number, before: before, limit: Int64(clamping: limit)), (number, view.books[room]?.changes))
        }
        defer { access { view in _ = view.books[room]?.pages.removeValue(forKey: number) } }
        guard let changes else { throw .left }
        return try await wait(for: "the history", on: changes, within: patience) { () throws(RoomsError) -> RoomPage? in
            let (outcome, ending) = access { view in (view.books[room]?.pages[number] ?? nil, view.ending) }
            switch outcome {
            case .page(let entries, let reachedBeginning)?: return RoomPage(entries: entries, reachedBeginning: reachedBeginning)
            case .none(let refusal?)?: throw .refused(refusal)
            case .some(.none(nil)): throw .timedOut("the history", cause: access { view in view.obstacle })
            case nil: break
            }
            if let ending { throw ending }
            return nil
        }
    }

    /// How many messages of others are stored after the own read marker.
    func unread(_ room: RoomName) async throws(RoomsError) -> Int {
        let (status, user, device) = access { view in (view.books[room]?.status ?? RoomStatus(), view.user, view.device) }
        var (count, before) = (0, Int64?.none)
        while true {
            let page = try await reading { try await context.store.entries(room, before: before, limit: 200) }
            count += page.count { $0.seq > status.read && $0.countsAsUnread(for: user, device) }
            guard let first = page.first, first.seq > status.read + 1 else { return count }
            before = first.seq
        }
    }

    // MARK: - Signals

    func signals(_ room: RoomName) -> AsyncStream<ReceivedSignal> {
        let (stream, continuation) = AsyncStream.makeStream(of: ReceivedSignal.self, bufferingPolicy: .bufferingNewest(64))
        let number = access { view -> UInt64? in
            guard !view.isOver, view.books[room] != nil else { return nil }
            view.lastNumber += 1
            view.books[room]?.signals[view.lastNumber] = continuation
            return view.lastNumber
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            let gone = self?.access { view in view.books[room]?.signals.removeValue(forKey: number) }
            withExtendedLifetime(gone) {}
        }
        return stream
    }

    // MARK: - Readers

    func addReader(_ room: RoomName, after wish: LogPosition?) -> (number: UInt64, changes: Changes) {
        let changes = Changes()
        let number = access { view in
            view.lastNumber += 1
            view.books[room]?.readers[view.lastNumber] = RoomBook.Reading(wish: wish, changes: changes)
            return view.lastNumber
        }
        return (number, changes)
    }

    func removeReader(_ room: RoomName, _ number: UInt64) {
        access { view in _ = view.books[room]?.readers.removeValue(forKey: number) }
    }

    func step(_ room: RoomName, _ number: UInt64, _ changes: Changes) -> RoomBook.Step {
        let version = changes.version
        return access { view in
            guard let step = view.books[room]?.step(number) else { return view.isOver ? .end(view.ending ?? .closed) : .end(.left) }
            if case .wait = step {
                if view.isOver { return .end(view.ending ?? .closed) }
                switch view.books[room]?.status.phase {
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
        if let entries = try await reading({ try await context.store.entries(room, after: position, limit: limit) }) {
            access { view in view.books[room]?.fill(number, entries, after: position.seq, generation: generation) }
            return nil
        }
        // The store has let go of what this reader had not taken yet, or of all.
        let first = try await reading { try await context.store.room(room) }.first
        return access { view in view.books[room]?.skip(number, after: position.seq, to: first, generation: generation) }
    }
}

extension RoomsView {
    fileprivate func isWaiting(_ id: MessageID, in room: RoomName) -> Bool { books[room]?.status.outbox.contains { $0.id == id } ?? false }

    /// The receipt of a message that is there already: an earlier one, or this.
    fileprivate mutating func known(_ made: Receipt, in room: RoomName) -> Receipt? {
        if let receipt = books[room]?.receipt(made.id) { return receipt }
        guard let message = books[room]?.status.outbox.first(where: { $0.id == made.id }) else { return nil }
        made.note(message.stage)
        if isOver { made.end(ending ?? .closed) }
        books[room]?.add(made)
        return made
    }

    fileprivate func room(of id: MessageID, where fits: (DeliveryStage) -> Bool) -> RoomName? {
        books.first { $0.value.status.outbox.contains { $0.id == id && fits($0.stage) } }?.key
    }
}
