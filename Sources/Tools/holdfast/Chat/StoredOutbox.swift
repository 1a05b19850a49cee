import HoldfastRooms
import RoomCore

/// The outbox of a store that no client has open, with operations on failed messages.
struct StoredOutbox: Sendable {
    let store: any RoomStore

    /// Returns the waiting and failed messages, by room and in order, without discarded ones.
    ///
    /// - Parameter room: The room; nil for all rooms.
    func rows(of room: RoomName?) async throws(RoomStoreError) -> [OutboxRow] {
        var rows: [OutboxRow] = []
        for summary in try await store.rooms() where room == nil || summary.name == room {
            rows += try await store.room(summary.name).outbox.filter { $0.state != .voiding(.discarded) }
        }
        return rows
    }

    /// Queues failed messages again, each with a new sequence number; returns the new rows.
    ///
    /// - Parameter now: The time in milliseconds since 1970 UTC.
    func retry(_ rows: [OutboxRow], at now: Int64) async throws(RoomStoreError) -> [OutboxRow] {
        var (renewed, generator): ([OutboxRow], _) = ([], SystemRandomNumberGenerator())
        for row in rows where row.canBeRetried {
            var new = OutboxRow(room: row.room, publication: row.publication)
            (new.publication.cseq, new.publication.sent) = (try await store.room(row.room).next, now)
            // An ID may be in the outbox only once, and the old sequence number still has to be voided under the old ID.
            if case .voiding = row.state { new.publication.id = MessageID(at: now, using: &generator) }
            try await store.commit([removal(of: row), .queue(new)])
            renewed.append(new)
        }
        return renewed
    }

    /// Discards failed messages; returns them.
    func discard(_ rows: [OutboxRow]) async throws(RoomStoreError) -> [OutboxRow] {
        let failed = rows.filter(\.hasFailed)
        for row in failed { try await store.commit([removal(of: row)]) }
        return failed
    }

    private func removal(of row: OutboxRow) -> StoreChange {
        let cseq = row.publication.cseq
        return if case .voiding = row.state { .mark(row.room, cseq: cseq, .voiding(.discarded)) } else { .remove(row.room, cseq: cseq) }
    }
}

extension OutboxRow {
    /// Whether it is not sent without a retry.
    var hasFailed: Bool { state != .queued }

    /// Whether the message may be retried: it has failed, and it is known not to be stored, or nobody can know.
    ///
    /// A message that expired here before the hub reported its outcome may not be retried.
    var canBeRetried: Bool { hasFailed && state != .voiding(.expired) }
}

extension DeliveryStage {
    /// Whether the message waits for a retry or discard.
    var isFailed: Bool { if case .failed(let failure) = self { failure != .discarded } else { false } }
}
