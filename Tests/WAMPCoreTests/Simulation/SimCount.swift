/// The counted events, which show that a simulation reaches them.
enum SimCount: String, CaseIterable, Comparable {
    case calls, results, parts, callsFailed, cancelled, publications, published, publicationsFailed, events, listeners, procedures
    case invocations, interrupts, gaps, filled, suspensions, joins, challenges, cuts, halfOpen, slowLinks, routerDeaths, routerStops, kills
    case revocations, reconnects, inputParts, retained, lostAfterSent, lostBeforeSent, timedOut

    static func < (one: SimCount, other: SimCount) -> Bool { one.rawValue < other.rawValue }
}
