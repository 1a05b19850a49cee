public import SessionCore

/// What a ``WebSocket`` gives for a message: who keeps it learns what became of that.
public struct SendReceipt: Sendable {
    enum Course: Sendable {
        /// A connection has taken it; without a serial it is over.
        case taken(WriteTrail, serial: UInt64?)
        /// It waits, or waited.
        case queued(SendTicket)
    }
    private let course: Course

    init(_ course: Course) { self.course = course }

    /// Waits for the end of the send: the socket took every byte of it, it never left, or nobody knows.
    ///
    /// Every send ends, at the latest with its socket. Nothing is asked of the network: that the socket took it does not say that the peer
    /// has it. What was sent before anybody asked for a fate on its connection, and was not asked about before that connection ended,
    /// is `unknown`; so ask early if you want to know. If the task is cancelled this is `unknown` at once, nothing is lost,
    /// and you may ask again.
    public func fate() async -> SendFate {
        switch course {
        case .taken(let trail, let serial): await Self.fate(on: trail, serial)
        case .queued(let ticket):
            switch await ticket.end() {
            case .taken(let trail, let serial): await Self.fate(on: trail, serial)
            case .refused(let reason): .refused(reason)
            case nil: .unknown
            }
        }
    }

    private static func fate(on trail: WriteTrail, _ serial: UInt64?) async -> SendFate {
        guard let serial else { return .unknown }
        return await trail.fate(of: serial) ?? .unknown
    }
}
