extension HubMachine {
    /// A dictionary of large values, which are read and changed where they lie.
    ///
    /// A `Dictionary` copies the value that it is asked for a part of, with all that it holds; for each message that is too much.
    struct Table<Key: Hashable & Comparable & Sendable, Value: Sendable>: Sendable {
        private var places: [Key: Int] = [:]
        private var values: [Value?] = []
        private var free: [Int] = []

        var count: Int { places.count }
        var isEmpty: Bool { places.isEmpty }
        /// In their order, not in that of chance.
        var keys: [Key] { places.keys.sorted() }

        subscript(key: Key) -> Value? {
            _read {
                if let place = places[key] { yield values[place] } else { yield nil }
            }
            _modify {
                if let place = places[key] {
                    yield &values[place]
                    if values[place] == nil {
                        places[key] = nil
                        free.append(place)
                    }
                } else {
                    var value: Value?
                    yield &value
                    if let value { insert(value, key) }
                }
            }
        }

        private mutating func insert(_ value: Value, _ key: Key) {
            let place = free.popLast() ?? values.count
            if place == values.count { values.append(value) } else { values[place] = value }
            places[key] = place
        }

        /// Hands over all, in no order.
        func forEach(_ take: (Key, Value) -> Void) {
            for (key, place) in places { if let value = values[place] { take(key, value) } }
        }
    }
}
