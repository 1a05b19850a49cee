import DequeModule
import Holdfast
import HoldfastProtocols
import RoomCore

/// The store side of the shell: runs one order after the other, without blocking other work.
extension RoomsShell {
    /// The maximum number of changes per transaction.
    private static var batch: Int { 512 }

    /// Opens the store and serves it until the rooms end and all ordered changes are written.
    func serveStore() async {
        guard await openStore() else { return }
        while true {
            let version = context.storeChanges.version
            if let work = takeWork() {
                await perform(work)
            } else if isOver {
                // All ordered changes are written: messages that were submitted but not written never will be.
                return command { view, actions in (nil, view.settle(&actions)) }
            } else {
                await context.storeChanges.next(after: version)
            }
        }
    }

    private func openStore() async -> Bool {
        do {
            let device = try await context.store.device()
            // A change of the device concerns all waiting messages, also those of rooms that are not joined.
            let waiting = try await context.store.rooms().filter { $0.waiting + $0.failed > 0 }.map(\.name)
            let keeps = Int64(context.store.entriesPerRoom)
            command { view, actions in
                view.device = device
                actions.append(.announce(changes))
                return (.storeOpened(device, keeps: keeps, waiting: waiting), ())
            }
            return true
        } catch {
            access { view in view.ending = view.ending ?? .store("\(error)") }
            stop()
            finish(nil)
            return false
        }
    }

    /// Takes one order, or merges all waiting transactions into one.
    private func takeWork() -> StoreWork? {
        let work = access { view in view.takeWork(atMost: Self.batch) }
        if work != nil { context.storeChanges.announce() }
        return work
    }

    private func perform(_ work: StoreWork) async {
        switch work {
        case .load(let room):
            do {
                let stored = try await context.store.room(room)
                report { view, actions in
                    view.change(room, &actions) { $0.load(stored) }
                    return .loaded(room, stored)
                }
            } catch {
                report { _, _ in .notLoaded(room) }
            }
        case .commit(let numbers, let list):
            do {
                try await context.store.commit(list)
                // The last number also confirms all before it.
                report { _, _ in numbers.last.map { .committed($0) } }
            } catch {
                report { view, actions in
                    // The commits ordered after the failed one are void, too.
                    view.orders.removeAll { if case .commit = $0 { true } else { false } }
                    actions.append(.announce(context.storeChanges))
                    return .notCommitted(numbers[0], full: error == .full)
                }
            }
        }
    }
}

private enum StoreWork {
    case load(RoomName)
    case commit([Int64], [StoreChange])
}

extension RoomsView {
    fileprivate mutating func takeWork(atMost batch: Int) -> StoreWork? {
        var (numbers, list) = ([Int64](), [StoreChange]())
        while case .commit(let number, let changes)? = orders.first, list.count + changes.count <= batch || numbers.isEmpty {
            orders.removeFirst()
            numbers.append(number)
            list += changes
        }
        if !numbers.isEmpty { return .commit(numbers, list) }
        guard case .load(let room)? = orders.popFirst() else { return nil }
        return .load(room)
    }

    fileprivate mutating func settle(_ actions: inout [Action]) { for room in observers.keys { change(room, &actions) { $0.settle() } } }
}
