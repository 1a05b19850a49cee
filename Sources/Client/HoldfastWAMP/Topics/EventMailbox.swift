import DequeModule
import WebSocketRuntime

/// Where the events of one subscriber wait for it.
///
/// Whoever reads pushes, and never waits for the consumer.
final class EventMailbox: Sendable {
    enum Item: Sendable {
        case event(RawEvent)
        case gap(EventGap)
    }
    /// Who waits; woken to look again.
    typealias Place = CheckedContinuation<Void, Never>
    private struct State {
        var items: Deque<Item> = []
        /// How many of the items are events.
        var events = 0
        /// How many events were dropped at the end of what waits.
        var dropped = 0
        var end: Result<Void, WAMPError>?
        var places: [(id: UInt64, place: Place)] = []
        var lastID: UInt64 = 0
    }
    private enum Step {
        case give(Item)
        case end(Result<Void, WAMPError>)
        case wait
    }
    private let buffer: EventBuffer
    private let request: String
    private let state = LockedValue(State())

    init(_ buffer: EventBuffer, _ request: String) { (self.buffer, self.request) = (buffer, request) }

    /// Adds an event; returns who is to be woken, without any lock.
    func push(_ event: RawEvent) -> Place? {
        state.withLockedValue { state in
            guard state.end == nil else { return nil }
            guard state.events < buffer.capacity else { return drop(event, &state) }
            Self.tellDropped(&state)
            state.items.append(.event(event))
            state.events += 1
            return state.places.popLast()?.place
        }
    }

    /// Tells that events may be missing; at most as many wait as events may.
    func push(_ gap: EventGap) -> Place? {
        state.withLockedValue { state in
            guard state.end == nil else { return nil }
            Self.tellDropped(&state)
            guard state.items.count < 2 * buffer.capacity else { return nil }
            state.items.append(.gap(gap))
            return state.places.popLast()?.place
        }
    }

    /// No more comes: the consumer gets what waits, and then this.
    func finish(_ end: Result<Void, WAMPError>) -> [Place] {
        state.withLockedValue { state in
            if state.end == nil {
                Self.tellDropped(&state)
                state.end = end
            }
            defer { state.places = [] }
            return state.places.map(\.place)
        }
    }

    private func drop(_ event: RawEvent, _ state: inout State) -> Place? {
        switch buffer {
        case .dropNewest: state.dropped += 1
        case .fail: state.end = .failure(WAMPError(.overrun, request: request))
        case .dropOldest:
            // What was dropped is told in the place of the hole: before the oldest that is left.
            var gone = 1
            while let item = state.items.popFirst() {
                switch item {
                case .event: break
                case .gap(.dropped(let count)):
                    gone += count
                    continue
                case .gap: continue  // A hole in the hole.
                }
                break
            }
            state.items.prepend(.gap(.dropped(gone)))
            state.items.append(.event(event))
        }
        return nil
    }

    private static func tellDropped(_ state: inout State) {
        guard state.dropped > 0 else { return }
        state.items.append(.gap(.dropped(state.dropped)))
        state.dropped = 0
    }

    /// Waits for what is next; nil after an end in peace, or when the task is cancelled.
    func next() async throws(WAMPError) -> Item? {
        while !Task.isCancelled {
            switch state.withLockedValue(Self.step) {
            case .give(let item): return item
            case .end(let end):
                try end.get()
                return nil
            case .wait: await called()
            }
        }
        return nil
    }

    private static func step(_ state: inout State) -> Step {
        if state.items.isEmpty { tellDropped(&state) }
        if let item = state.items.popFirst() {
            if case .event = item { state.events -= 1 }
            return .give(item)
        }
        return state.end.map { .end($0) } ?? .wait
    }

    /// Waits until there is a reason to look again.
    private func called() async {
        let id = state.withLockedValue { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (place: Place) in
                let mustWait = state.withLockedValue { state in
                    guard state.items.isEmpty, state.dropped == 0, state.end == nil, !Task.isCancelled else { return false }
                    state.places.append((id, place))
                    return true
                }
                if !mustWait { place.resume() }
            }
        } onCancel: {
            let place = state.withLockedValue { state -> Place? in
                guard let index = state.places.firstIndex(where: { $0.id == id }) else { return nil }
                return state.places.remove(at: index).place
            }
            place?.resume()
        }
    }
}
