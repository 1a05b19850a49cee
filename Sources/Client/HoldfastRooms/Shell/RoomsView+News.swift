import Holdfast
import RoomCore

/// What the machine tells, put down for the app.
extension RoomsView {
    /// Whoever follows the room looks again.
    func wake(_ room: RoomName, _ deeds: inout [Deed]) {
        guard let book = books[room] else { return }
        deeds.append(.announce(book.changes))
        deeds += book.readers.values.map { .announce($0.changes) }
    }

    mutating func hear(_ news: RoomsNews, _ deeds: inout [Deed]) {
        switch news {
        case .welcomed: break
        case .renewed(let device): self.device = device
        case .storeFailed: break  // Each message that it concerns is refused, and what was to be stored comes again.
        case .phase(let room, let phase): change(room, &deeds) { $0.status.phase = phase }
        case .queued(let room, let id, _): step(room, id, .queued, &deeds)
        case .sent(let room, let id): step(room, id, .sent, &deeds)
        case .stored(let room, let id, let position): step(room, id, .stored(position), &deeds)
        case .failed(let room, let id, let failure): step(room, id, .failed(failure), &deeds)
        case .discarded(let room, let id): step(room, id, .discarded, &deeds)
        case .refused(let room, let id, let refusal): refuse(room, id, refusal, &deeds)
        case .appended(let room, let epoch, let entries): change(room, &deeds) { $0.append(entries, epoch: epoch) }
        case .replaced(let room, let position, let entries): change(room, &deeds) { $0.replace(position, entries) }
        case .page(let room, let number, let entries, let reachedBeginning):
            change(room, &deeds) { book in
                book.prepend(entries, reachedBeginning: reachedBeginning)
                if book.pages[number] != nil { book.pages[number] = .some(.page(entries, reachedBeginning: reachedBeginning)) }
            }
        case .noPage(let room, let number, let refusal):
            change(room, &deeds) { book in
                if number == 0 { book.isFilling = false }
                if book.pages[number] != nil { book.pages[number] = .some(.none(refusal)) }
            }
        case .members(let room, let members, let total):
            change(room, &deeds) { book in (book.status.members, book.status.total) = (RoomMember.grouped(members), total) }
        case .typing(let room, let users): change(room, &deeds) { $0.status.typing = users }
        case .read(let room, let user, let seq): read(room, user, seq, &deeds)
        case .signal(let room, let user, let connection, let signal):
            for reader in books[room]?.signals.values.map(\.self) ?? [] {
                reader.yield(ReceivedSignal(user: user, connection: connection, signal: signal))
            }
        }
    }

    private mutating func change(_ room: RoomName, _ deeds: inout [Deed], _ body: (inout RoomBook) -> Void) {
        guard var book = books[room] else { return }
        books[room] = nil  // So that nothing in it is copied.
        body(&book)
        books[room] = book
        wake(room, &deeds)
    }

    mutating func step(_ room: RoomName, _ id: MessageID, _ stage: DeliveryStage, _ deeds: inout [Deed]) {
        change(room, &deeds) { $0.note(id, stage) }
        guard let book = books[room], let receipt = book.receipt(id) else { return }
        deeds.append(.release(receipt))
        // A copy that is sent again does not take back what is known.
        if stage == .sent, receipt.stage.position != nil { return }
        let readers = stage.position.map { book.readers(of: $0) } ?? []
        receipt.note(stage.position.flatMap { readers.isEmpty ? nil : .seen($0, by: readers) } ?? stage)
        deeds.append(.announce(receipt.changes))
    }

    private mutating func refuse(_ room: RoomName, _ id: MessageID, _ refusal: OutboxRefusal, _ deeds: inout [Deed]) {
        // A message that was there before is there still, as it was.
        if let failure = books[room]?.retried[id] { return step(room, id, .failed(failure), &deeds) }
        guard books[room]?.status.outbox.contains(where: { $0.id == id && $0.stage == .submitted }) == true else { return }
        change(room, &deeds) { book in book.status.outbox.removeAll { $0.id == id && $0.stage == .submitted } }
        guard let receipt = books[room]?.receipt(id) else { return }
        receipt.end(.notQueued(refusal))
        deeds.append(.release(receipt))
        deeds.append(.announce(receipt.changes))
    }

    private mutating func read(_ room: RoomName, _ user: UserName, _ seq: Int64, _ deeds: inout [Deed]) {
        let own = user == self.user
        change(room, &deeds) { book in
            book.status.reads[user] = max(seq, book.status.reads[user] ?? 0)
            if own { book.status.read = max(seq, book.status.read) }
        }
        guard !own, let book = books[room] else { return }
        for receipt in book.liveReceipts {
            deeds.append(.release(receipt))
            guard let position = receipt.stage.position else { continue }
            let readers = book.readers(of: position)
            guard !readers.isEmpty, receipt.stage != .seen(position, by: readers) else { continue }
            receipt.note(.seen(position, by: readers))
            deeds.append(.announce(receipt.changes))
        }
    }
}
