import WAMPCore

/// Why events may be missing from a stream.
public enum EventGap: Hashable, Sendable {
    /// The connection was lost, and the subscription stands again: what was published between the two did not come.
    case reconnected
    /// The same, but so many events came from the router's history; what it no longer has is missing still.
    case filled(events: Int)
    /// The router took the subscription away, and gave it back.
    case revoked(reason: String?)
    /// So many events were dropped here, for this consumer took them too slowly.
    case dropped(Int)

    init(_ gap: ClientGap) {
        switch gap {
        case .reconnected: self = .reconnected
        case .filled(let events): self = .filled(events: events)
        case .revoked(let reason): self = .revoked(reason: reason)
        }
    }
}
