import DequeModule
import Holdfast
import ProtocolCore
import WebSocketRuntime
import RoomCore

/// The store's side of the desk: one order after the other, off everybody's way.
extension RoomsDesk {
    private enum Work {
        case load(RoomName)
        case commit([Int64], [StoreChange])
    }
    /// Changes of one transaction, however many wait.
    private static let batch = 512

    /// Opens the store and serves it, until the end, and what was ordered until then is written.
    func serveStore() async {
        guard await open() else { return }
        while true {
            let version = storeChanges.version
            if let work = takeWork() {
                await perform(work)
            } else if state.withLockedValue(\.isOver) {
                return settle()
            } else {
                await storeChanges.next(after: version)
            }
        }
    }

    private func open() async -> Bool {
        do {
            let device = try await store.device()
            // Whatever becomes of the device concerns all that waits, joined or not.
            let waiting = try await store.rooms().filter { $0.waiting + $0.failed > 0 }.map(\.name)
            change { state, now in
                guard !state.isOver else { return }
                state.device = device
                var policy = options.policy
                policy.keptEntries = min(policy.keptEntries, Int64(store.entriesPerRoom))
                state.machine = RoomsMachine(device: device, policy: policy, seed: seed)
                Self.tell(.calendar(calendar()), &state, now)
                Self.tell(.stored(waiting), &state, now)
                let early = state.early
                state.early = []
                for input in early { Self.tell(input, &state, now) }
                state.woken.append(changes)
            }
            return true
        } catch {
            change { state, _ in
                state.ending = state.ending ?? .store("\(error)")
                state.end = .stop
            }
            finish(.store("\(error)"))
            return false
        }
    }

    /// Receipts of what is on disk and was to be written learn what is known of it.
    private func tellStages(of room: RoomName, _ state: inout State) {
        guard let book = state.books[room] else { return }
        for receipt in book.liveReceipts {
            state.receipts.append(receipt)
            guard receipt.stage == .submitted, let stage = book.status.outbox.first(where: { $0.id == receipt.id })?.stage else { continue }
            receipt.note(stage)
            state.woken.append(receipt.changes)
        }
    }

    /// Everything that was ordered is written: what was submitted and is not among it never will be.
    private func settle() {
        change { state, _ in
            for name in state.books.keys {
                // Those that were to be sent after all are on disk as they were.
                for (id, failure) in state.books[name]?.retried ?? [:] { step(name, id, .failed(failure), &state) }
                state.books[name]?.status.outbox.removeAll { $0.stage == .submitted }
                wake(name, &state)
                for receipt in state.books[name]?.liveReceipts ?? [] {
                    state.receipts.append(receipt)
                    receipt.end(receipt.stage == .submitted ? .notQueued(.closed) : state.ending ?? .closed)
                    state.woken.append(receipt.changes)
                }
            }
        }
    }

    /// Takes one order, or all transactions that wait: together they are one.
    private func takeWork() -> Work? {
        let work = state.withLockedValue { state -> Work? in
            var (numbers, list) = ([Int64](), [StoreChange]())
            while case .commit(let number, let changes)? = state.orders.first, list.count + changes.count <= Self.batch || numbers.isEmpty {
                state.orders.removeFirst()
                numbers.append(number)
                list += changes
            }
            if !numbers.isEmpty { return .commit(numbers, list) }
            guard case .load(let room)? = state.orders.popFirst() else { return nil }
            return .load(room)
        }
        if work != nil { storeChanges.announce() }
        return work
    }

    private func perform(_ work: Work) async {
        switch work {
        case .load(let room):
            do {
                let stored = try await store.room(room)
                change { state, now in
                    state.books[room]?.load(stored)
                    wake(room, &state)
                    tellStages(of: room, &state)
                    Self.answer(.loaded(room, stored), &state, now)
                }
            } catch {
                change { state, now in Self.answer(.notLoaded(room), &state, now) }
            }
        case .commit(let numbers, let list):
            do {
                try await store.commit(list)
                change { state, now in for number in numbers { Self.answer(.committed(number), &state, now) } }
            } catch {
                change { state, now in
                    // What was ordered after it is void, too.
                    state.orders.removeAll { if case .commit = $0 { true } else { false } }
                    state.woken.append(storeChanges)
                    Self.answer(.notCommitted(numbers[0], full: error.isFull), &state, now)
                }
            }
        }
    }
}
