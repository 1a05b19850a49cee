/// The last events that this client published, and that were not for itself: a router's history has them for everybody.
struct OwnPublications: Hashable, Sendable {
    /// More answers are not waited for: a router that gives none is no reason to grow.
    static let capacity = 1024

    /// The numbers of what was published, and not answered.
    private var requests: Set<WAMPID> = []
    private var ids = SeenPublications()

    func contains(_ publication: WAMPID) -> Bool { ids.contains(publication) }

    /// The router is to say how it calls what is published.
    mutating func ask(_ request: WAMPID) {
        if requests.count >= Self.capacity { requests.removeAll() }
        requests.insert(request)
    }

    /// The router says how it calls what was published.
    mutating func hear(_ request: WAMPID, publication: WAMPID) {
        guard !requests.isEmpty, requests.remove(request) != nil else { return }
        ids.insert(publication)
    }

    /// Nothing is answered any more.
    mutating func lose() { requests.removeAll() }
}
