import Holdfast
import RoomCore

/// What the machine tells, put down for the app.
extension RoomsDesk {
    /// Whoever follows the room looks again.
    func wake(_ room: RoomName, _ state: inout State) {
        guard let book = state.books[room] else { return }
        state.woken.append(book.changes)
        state.woken += book.readers.values.map(\.changes)
    }

    func hear(_ news: RoomsNews, _ state: inout State) {
        switch news {
        case .welcomed(let user, let connection, let limits, let expires):
            (state.isOnline, state.user, state.connection, state.limits) = (true, user, connection, limits)
            state.cause = nil
            state.woken.append(changes)
            state.renewAt = expires
        case .renewed(let device): state.device = device
        case .storeFailed: break  // Each message that it concerns is refused, and what was to be stored comes again.
        case .phase(let room, let phase): change(room, &state) { $0.status.phase = phase }
        case .queued(let room, let id, _): step(room, id, .queued, &state)
        case .sent(let room, let id): step(room, id, .sent, &state)
        case .stored(let room, let id, let position): step(room, id, .stored(position), &state)
        case .failed(let room, let id, let failure): step(room, id, .failed(failure), &state)
        case .discarded(let room, let id): step(room, id, .discarded, &state)
        case .refused(let room, let id, let refusal): refuse(room, id, refusal, &state)
        case .appended(let room, let epoch, let entries): change(room, &state) { $0.append(entries, epoch: epoch) }
        case .replaced(let room, let position, let entries): change(room, &state) { $0.replace(position, entries) }
        case .page(let room, let number, let entries, let reachedBeginning):
            change(room, &state) { book in
                book.prepend(entries, reachedBeginning: reachedBeginning)
                if book.pages[number] != nil { book.pages[number] = .some(.page(entries, reachedBeginning: reachedBeginning)) }
            }
        case .noPage(let room, let number, let refusal):
            change(room, &state) { book in
                if number == 0 { book.isFilling = false }
                if book.pages[number] != nil { book.pages[number] = .some(.none(refusal)) }
            }
        case .members(let room, let members, let total):
            change(room, &state) { book in (book.status.members, book.status.total) = (RoomMember.grouped(members), total) }
        case .typing(let room, let users): change(room, &state) { $0.status.typing = users }
        case .read(let room, let user, let seq): read(room, user, seq, &state)
        case .signal(let room, let user, let connection, let signal):
            for reader in state.books[room]?.signals.values.map(\.self) ?? [] {
                reader.yield(ReceivedSignal(user: user, connection: connection, signal: signal))
            }
        }
    }

    private func change(_ room: RoomName, _ state: inout State, _ body: (inout RoomBook) -> Void) {
        guard var book = state.books[room] else { return }
        state.books[room] = nil  // So that nothing in it is copied.
        body(&book)
        state.books[room] = book
        wake(room, &state)
    }

    func step(_ room: RoomName, _ id: MessageID, _ stage: DeliveryStage, _ state: inout State) {
        change(room, &state) { $0.note(id, stage) }
        guard let book = state.books[room], let receipt = book.receipt(id) else { return }
        state.receipts.append(receipt)
        // A copy that is sent again does not take back what is known.
        if stage == .sent, receipt.stage.position != nil { return }
        let readers = stage.position.map { book.readers(of: $0) } ?? []
        receipt.note(stage.position.flatMap { readers.isEmpty ? nil : .seen($0, by: readers) } ?? stage)
        state.woken.append(receipt.changes)
    }

    private func refuse(_ room: RoomName, _ id: MessageID, _ refusal: OutboxRefusal, _ state: inout State) {
        // A message that was there before is there still, as it was.
        if let failure = state.books[room]?.retried[id] { return step(room, id, .failed(failure), &state) }
        guard state.books[room]?.status.outbox.contains(where: { $0.id == id && $0.stage == .submitted }) == true else { return }
        change(room, &state) { book in book.status.outbox.removeAll { $0.id == id && $0.stage == .submitted } }
        guard let receipt = state.books[room]?.receipt(id) else { return }
        receipt.end(.notQueued(refusal))
        state.receipts.append(receipt)
        state.woken.append(receipt.changes)
    }

    private func read(_ room: RoomName, _ user: UserName, _ seq: Int64, _ state: inout State) {
        let own = user == state.user
        change(room, &state) { book in
            book.status.reads[user] = max(seq, book.status.reads[user] ?? 0)
            if own { book.status.read = max(seq, book.status.read) }
        }
        guard !own, let book = state.books[room] else { return }
        for receipt in book.liveReceipts {
            state.receipts.append(receipt)
            guard let position = receipt.stage.position else { continue }
            let readers = book.readers(of: position)
            guard !readers.isEmpty, receipt.stage != .seen(position, by: readers) else { continue }
            receipt.note(.seen(position, by: readers))
            state.woken.append(receipt.changes)
        }
    }
}
