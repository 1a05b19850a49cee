import Holdfast
import HoldfastProtocols
import MachineCore
import RoomCore
import WebSocketRuntime

/// The operations that the app calls.
extension RoomsShell {
    /// Runs a read of the store, and converts its errors to ``RoomsError``.
    func reading<Value>(_ body: () async throws -> Value) async throws(RoomsError) -> Value {
        do { return try await body() } catch is CancellationError { throw .cancelled } catch { throw .store("\(error)") }
    }

    func join(_ room: RoomName, _ wish: JoinRequest) async throws(RoomsError) {
        let changes = command { view, actions in
            var observer = view.observers[room] ?? RoomObservers(user: view.user)
            observer.change(&actions) { $0.join(wish) }
            view.observers[room] = observer
            return (.join(room, wish), observer.changes)
        }
        try await wait(
            for: "reading the room", isLocal: true, on: changes, within: context.options.storePatience
        ) { () throws(RoomsError) -> Void? in
            let (isLoaded, ending) = access { view in (view.observers[room]?.record.isLoaded ?? false, view.ending) }
            if isLoaded { return () }
            if let ending { throw ending }
            return nil
        }
    }

    func leave(_ room: RoomName) {
        command { view, actions in
            view.change(room, &actions) { $0.leave() }
            return (.leave(room), ())
        }
    }

    /// Moves the own read marker to an entry.
    func read(_ room: RoomName, upTo seq: Int64) {
        command { view, actions in
            guard view.observers[room]?.record.markRead(upTo: seq) == true else { return (nil, ()) }
            view.change(room, &actions) { _ in }
            return (.read(room, upTo: seq), ())
        }
    }

    // MARK: - Messages

    /// Puts a message into the outbox; returns when it is on disk.
    func submit(_ room: RoomName, _ content: Publication.Content, id: MessageID? = nil) async throws(RoomsError) -> Receipt {
        var generator = SystemRandomNumberGenerator()
        let sent = context.calendar()
        let id = id ?? MessageID(at: sent, using: &generator)
        // Created without the lock and kept until the lock is released, because the deinitialiser of a receipt takes the lock.
        let made = Receipt(id: id, room: room, shell: self)
        defer { withExtendedLifetime(made) {} }
        let (receipt, ending) = command { view, actions -> (RoomsCommand?, (Receipt?, RoomsError?)) in
            // A message submitted again is the same message, also while its entry has not arrived yet.
            if view.observers[room]?.record.isWaiting(id) == true { return (nil, (view.observers[room]?.follow(with: made), nil)) }
            // Also while the socket is still closing, because nothing is sent any more.
            if let ending = view.ending { return (nil, (nil, ending)) }
            view.change(room, &actions) { $0.submit(id, sent: sent, content) }
            return (.submit(room, id, sent: sent, content), (view.observers[room]?.follow(with: made), nil))
        }
        if case .closed? = ending { throw .notQueued(.closed) }
        guard let receipt else { throw ending ?? .left }
        return try await written(receipt)
    }

    /// Waits until a message is in the outbox, on disk.
    private func written(_ receipt: Receipt) async throws(RoomsError) -> Receipt {
        try await wait(
            for: "writing the message", isLocal: true, on: receipt.changes, within: context.options.storePatience
        ) { () throws(RoomsError) -> Void? in
            let (stage, ending) = receipt.standing
            if stage == .submitted, let ending { throw ending }
            return stage == .submitted ? nil : ()
        }
        return receipt
    }

    func receipt(_ room: RoomName, _ id: MessageID) -> Receipt? {
        let made = Receipt(id: id, room: room, shell: self)
        defer { withExtendedLifetime(made) {} }
        return access { view in view.observers[room]?.follow(with: made) }
    }

    /// Sends a failed message again; callers that wait for it now wait for the new attempt.
    func retry(_ id: MessageID) throws(RoomsError) {
        try change(id, where: { $0.mayRetry(id) }) { view, actions, room in
            view.change(room, &actions) { $0.retry(id) }
            return .retry(room, id)
        }
    }

    func discard(_ id: MessageID) throws(RoomsError) {
        try change(id, where: { $0.mayDiscard(id) }) { _, _, room in .discard(room, id) }
    }

    /// Sends the machine a command about a message in the outbox.
    private func change(
        _ id: MessageID, where fits: (RoomRecord) -> Bool, _ body: (inout RoomsView, inout [RoomsView.Action], RoomName) -> RoomsCommand
    ) throws(RoomsError) {
        let isKnown = command { view, actions in
            let room = view.isOver ? nil : view.observers.first { fits($0.value.record) }?.key
            return (room.map { body(&view, &actions, $0) }, room != nil)
        }
        if let ending { throw ending }
        if !isKnown { throw .unknownMessage(id) }
    }

    // MARK: - Older entries

    /// Returns the stored entries before a sequence number, or those of the hub if none are stored.
    func earlier(_ room: RoomName, before: Int64, limit: Int, within patience: Duration) async throws(RoomsError) -> RoomPage {
        let stored = try await reading { try await context.store.entries(room, before: before, limit: limit) }
        if !stored.isEmpty { return RoomPage(entries: stored, reachedBeginning: stored.first?.seq == 1) }
        if before <= 1 { return RoomPage(entries: [], reachedBeginning: true) }
        let (number, changes) = command { view, _ in
            let number = Int64(view.nextNumber())
            view.observers[room]?.record.awaitPage(number)
            return (
                .history(room, reference: number, before: before, limit: Int64(clamping: limit)), (number, view.observers[room]?.changes)
            )
        }
        defer { access { view in view.observers[room]?.record.forgetPage(number) } }
        guard let changes else { throw .left }
        return try await wait(for: "the history", on: changes, within: patience) { () throws(RoomsError) -> RoomPage? in
            let (outcome, ending) = access { view in (view.observers[room]?.record.page(number), view.ending) }
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

    /// Counts the stored messages of others after the own read marker.
    func unread(_ room: RoomName) async throws(RoomsError) -> Int {
        let (status, user, device) = access { view in (view.status(of: room), view.user, view.device) }
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
            guard !view.isOver, view.observers[room] != nil else { return nil }
            let number = view.nextNumber()
            view.observers[room]?.signals[number] = continuation
            return number
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            let gone = self?.access { view in view.observers[room]?.signals.removeValue(forKey: number) }
            withExtendedLifetime(gone) {}
        }
        return stream
    }

    // MARK: - Readers

    func addReader(_ room: RoomName, after wish: LogPosition?) -> UInt64 {
        access { view in
            let number = view.nextNumber()
            view.observers[room]?.record.addReader(number, after: wish)
            return number
        }
    }

    func removeReader(_ room: RoomName, _ number: UInt64) { access { view in view.observers[room]?.record.removeReader(number) } }

    /// Returns the next step of a reader; throws if there is nothing more to read.
    func step(_ room: RoomName, _ number: UInt64) throws(RoomsError) -> RoomRecord.Step {
        let (step, phase, ending) = access { view in
            (view.observers[room]?.record.step(number), view.status(of: room).phase, view.isOver ? view.ending ?? .closed : nil)
        }
        switch step {
        case .update?, .read?: break
        case .wait? where ending == nil:
            if case .left = phase { throw .left }
            if case .refused(let refusal) = phase, refusal.retry == .never { throw .refused(refusal) }
        case .wait?, nil: throw ending ?? .left
        }
        return step ?? .wait
    }

    /// Reads the next batch of stored entries for a reader.
    func fill(_ room: RoomName, _ number: UInt64, after position: LogPosition, generation: UInt64) async throws(RoomsError) -> RoomUpdate? {
        let limit = RoomRecord.readerLimit
        if let entries = try await reading({ try await context.store.entries(room, after: position, limit: limit) }) {
            access { view in view.observers[room]?.record.fill(number, entries, after: position.seq, generation: generation) }
            return nil
        }
        // The store has dropped entries that this reader had not read yet, or the whole log.
        let first = try await reading { try await context.store.room(room) }.first
        return access { view in view.observers[room]?.record.skip(number, after: position.seq, to: first, generation: generation) }
    }
}

extension Entry {
    /// Whether the entry is a message of another user that counts as unread.
    ///
    /// The user is nil until the hub has sent our user name, so the device is compared too.
    func countsAsUnread(for user: UserName?, _ device: DeviceID?) -> Bool {
        self.user != user && self.device != device && !type.hasPrefix("holdfast.")
    }
}
