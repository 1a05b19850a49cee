/// The last publications that came, by their ids, within bounds.
struct SeenPublications: Hashable, Sendable {
    /// More events of the past are never asked for.
    static let capacity = 1024

    private var ring: [WAMPID] = []
    /// Where the next one goes once the ring is full.
    private var place = 0
    private var ids: Set<WAMPID> = []

    func contains(_ id: WAMPID) -> Bool { ids.contains(id) }

    /// Remembers it; false if it is known.
    @discardableResult
    mutating func insert(_ id: WAMPID) -> Bool {
        guard ids.insert(id).inserted else { return false }
        if ring.count < Self.capacity {
            ring.append(id)
        } else {
            ids.remove(ring[place])
            ring[place] = id
            place = (place + 1) % Self.capacity
        }
        return true
    }
}
