import Holdfast
import RoomCore

/// What the machine tells, put down for the app.
extension RoomsView {
    /// Whoever follows the room looks again.
    func wake(_ room: RoomName, _ actions: inout [Action]) {
        guard let book = books[room] else { return }
        actions.append(.announce(book.changes))
        actions += book.readers.values.map { .announce($0.changes) }
    }

    mutating func hear(_ news: RoomsNews, _ actions: inout [Action]) {
        switch news {
        case .welcomed: break
        case .renewed(let device): self.device = device
        case .storeFailed: break  // Each message that it concerns is refused, and what was to be stored comes again.
        case .phase(let room, let phase): change(room, &actions) { $0.status.phase = phase }
        case .queued(let room, let id, _): step(room, id, .queued, &actions)
        case .sent(let room, let id): step(room, id, .sent, &actions)
        case .stored(let room, let id, let position): step(room, id, .stored(position), &actions)
        case .failed(let room, let id, let failure): step(room, id, .failed(failure), &actions)
        case .discarded(let room, let id): step(room, id, .discarded, &actions)
        case .refused(let room, let id, let refusal): refuse(room, id, refusal, &actions)
        case .appended(let room, let epoch, let entries): change(room, &actions) { $0.append(entries, epoch: epoch) }
        case .replaced(let room, let position, let entries): change(room, &actions) { $0.replace(position, entries) }
        case .page(let room, let number, let entries, let reachedBeginning):
            change(room, &actions) { book in
                book.prepend(entries, reachedBeginning: reachedBeginning)
                if book.pages[number] != nil { book.pages[number] = .some(.page(entries, reachedBeginning: reachedBeginning)) }
            }
        case .noPage(let room, let number, let refusal):
            change(room, &actions) { book in
                if number == 0 { book.isFilling = false }
                if book.pages[number] != nil { book.pages[number] = .some(.none(refusal)) }
            }
        case .members(let room, let members, let total):
            change(room, &actions) { book in (book.status.members, book.status.total) = (RoomMember.grouped(members), total) }
        case .typing(let room, let users): change(room, &actions) { $0.status.typing = users }
        case .read(let room, let user, let seq): read(room, user, seq, &actions)
        case .signal(let room, let user, let connection, let signal):
            for reader in books[room]?.signals.values.map(\.self) ?? [] {
                reader.yield(ReceivedSignal(user: user, connection: connection, signal: signal))
            }
        }
    }

    private mutating func change(_ room: RoomName, _ actions: inout [Action], _ body: (inout RoomBook) -> Void) {
        guard var book = books[room] else { return }
        books[room] = nil  // So that nothing in it is copied.
        body(&book)
        books[room] = book
        wake(room, &actions)
    }

    mutating func step(_ room: RoomName, _ id: MessageID, _ stage: DeliveryStage, _ actions: inout [Action]) {
        change(room, &actions) { $0.note(id, stage) }
        guard let book = books[room], let receipt = book.receipt(id) else { return }
        actions.append(.release(receipt))
        // A copy that is sent again does not take back what is known.
        if stage == .sent, receipt.stage.position != nil { return }
        let readers = stage.position.map { book.readers(of: $0) } ?? []
        receipt.note(stage.position.flatMap { readers.isEmpty ? nil : .seen($0, by: readers) } ?? stage)
        actions.append(.announce(receipt.changes))
    }

    private mutating func refuse(_ room: RoomName, _ id: MessageID, _ refusal: OutboxRefusal, _ actions: inout [Action]) {
        // A message that was there before is there still, as it was.
        if let failure = books[room]?.retried[id] { return step(room, id, .failed(failure), &actions) }
        guard books[room]?.status.outbox.contains(where: { $0.id == id && $0.stage == .submitted }) == true else { return }
        change(room, &actions) { book in book.status.outbox.removeAll { $0.id == id && $0.stage == .submitted } }
        guard let receipt = books[room]?.receipt(id) else { return }
        receipt.end(.notQueued(refusal))
        actions.append(.release(receipt))
        actions.append(.announce(receipt.changes))
    }

    private mutating func read(_ room: RoomName, _ user: UserName, _ seq: Int64, _ actions: inout [Action]) {
        let own = user == self.user
        change(room, &actions) { book in
            book.status.reads[user] = max(seq, book.status.reads[user] ?? 0)
            if own { book.status.read = max(seq, book.status.read) }
        }
        guard !own, let book = books[room] else { return }
        for receipt in book.liveReceipts {
            actions.append(.release(receipt))
            guard let position = receipt.stage.position else { continue }
            let readers = book.readers(of: position)
            guard !readers.isEmpty, receipt.stage != .seen(position, by: readers) else { continue }
            receipt.note(.seen(position, by: readers))
            actions.append(.announce(receipt.changes))
        }
    }
}
