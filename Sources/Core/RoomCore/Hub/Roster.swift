extension HubMachine {
    /// Connections as one array that is handed over as it is; adding and removing takes no time that grows with it.
    struct Roster: Sendable {
        private(set) var ids: [ConnectionID] = []
        private var places: [ConnectionID: Int] = [:]

        var isEmpty: Bool { ids.isEmpty }
        var count: Int { ids.count }

        func contains(_ id: ConnectionID) -> Bool { places[id] != nil }

        mutating func insert(_ id: ConnectionID) {
            guard places[id] == nil else { return }
            places[id] = ids.count
            ids.append(id)
        }

        mutating func remove(_ id: ConnectionID) {
            guard let place = places.removeValue(forKey: id) else { return }
            let last = ids.removeLast()
            guard place < ids.count else { return }
            ids[place] = last
            places[last] = place
        }

        mutating func removeAll() { (ids, places) = ([], [:]) }
    }
}
