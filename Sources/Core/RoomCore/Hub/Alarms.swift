import MachineCore

extension HubMachine {
    /// What a hub waits for.
    enum Alarm: Hashable, Sendable {
        /// A connection has not said who it is.
        case hello(ConnectionID)
        /// A token ends.
        case expiry(ConnectionID)
        /// A client was congested for too long.
        case slow(ConnectionID)
        /// A device that was lost is no longer shown as present.
        case grace(OwnedDevice)
        /// A room is opened again.
        case reopen(RoomName)
        /// A room in which nobody is is let go.
        case release(RoomName)
        /// Changes of presence are told.
        case presence(RoomName)
        /// All segments are told, and silent nodes are dropped.
        case heartbeat
        /// What a user took has flown back.
        case forgetUser(UserName)
        /// What an address took has flown back.
        case forgetAddress(String)
        /// The hub has waited long enough for what it had taken.
        case drain
    }

    /// Alarms by their moment, those of the same moment in the order in which they were set: a binary heap that knows each one's place.
    struct Alarms: Sendable {
        private struct Node: Sendable {
            var at: Moment
            var turn: UInt64
            var alarm: Alarm

            static func < (lhs: Node, rhs: Node) -> Bool { (lhs.at, lhs.turn) < (rhs.at, rhs.turn) }
        }
        private var heap: [Node] = []
        private var places: [Alarm: Int] = [:]
        private var turns: UInt64 = 0

        var next: Moment? { heap.first?.at }

        func isSet(_ alarm: Alarm) -> Bool { places[alarm] != nil }

        /// Sets an alarm, in place of the same one that was set before.
        mutating func set(_ alarm: Alarm, at moment: Moment) {
            cancel(alarm)
            turns += 1
            heap.append(Node(at: moment, turn: turns, alarm: alarm))
            places[alarm] = heap.count - 1
            rise(from: heap.count - 1)
        }

        mutating func cancel(_ alarm: Alarm) {
            guard let place = places.removeValue(forKey: alarm) else { return }
            let last = heap.removeLast()
            guard place < heap.count else { return }
            heap[place] = last
            places[last.alarm] = place
            rise(from: place)
            sink(from: place)
        }

        /// The next alarm that is due; it is no longer set.
        mutating func due(at now: Moment) -> Alarm? {
            guard let first = heap.first, first.at <= now else { return nil }
            cancel(first.alarm)
            return first.alarm
        }

        private mutating func rise(from start: Int) {
            var place = start
            while place > 0, heap[place] < heap[(place - 1) / 2] {
                exchange(place, (place - 1) / 2)
                place = (place - 1) / 2
            }
        }

        private mutating func sink(from start: Int) {
            var place = start
            while true {
                let left = 2 * place + 1
                guard left < heap.count else { return }
                let least = left + 1 < heap.count && heap[left + 1] < heap[left] ? left + 1 : left
                guard heap[least] < heap[place] else { return }
                exchange(place, least)
                place = least
            }
        }

        private mutating func exchange(_ one: Int, _ other: Int) {
            heap.swapAt(one, other)
            places[heap[one].alarm] = one
            places[heap[other].alarm] = other
        }
    }
}
