import HoldfastRooms
import RoomCore

/// The outbox of a store that no client has open, and what can be done there with messages that have failed.
struct StoredOutbox: Sendable {
    let store: any RoomStore

    /// What waits or has failed, by room and in order; not what was discarded.
    ///
    /// - Parameter room: The room; nil: all.
    func rows(of room: RoomName?) async throws(RoomStoreError) -> [OutboxRow] {
        var rows: [OutboxRow] = []
        for summary in try await store.rooms() where room == nil || summary.name == room {
            rows += try await store.room(summary.name).outbox.filter { $0.state != .burning(.discarded) }
        }
        return rows
    }

    /// Queues those that have failed again, each under a new number; returns them as they are now.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    func retry(_ rows: [OutboxRow], at now: Int64) async throws(RoomStoreError) -> [OutboxRow] {
        var (renewed, generator): ([OutboxRow], _) = ([], SystemRandomNumberGenerator())
        for row in rows where row.canBeRetried {
            var new = OutboxRow(room: row.room, publication: row.publication)
            (new.publication.cseq, new.publication.sent) = (try await store.room(row.room).next, now)
            // A name stands in the outbox once, and the old number is still to be burnt under its own.
            if case .burning = row.state { new.publication.id = MessageID(at: now, using: &generator) }
            try await store.commit([removal(of: row), .queue(new)])
            renewed.append(new)
        }
        return renewed
    }

    /// Forgets those that have failed; returns them.
    func discard(_ rows: [OutboxRow]) async throws(RoomStoreError) -> [OutboxRow] {
        let failed = rows.filter(\.hasFailed)
        for row in failed { try await store.commit([removal(of: row)]) }
        return failed
    }

    private func removal(of row: OutboxRow) -> StoreChange {
        let cseq = row.publication.cseq
        return if case .burning = row.state { .mark(row.room, cseq: cseq, .burning(.discarded)) } else { .remove(row.room, cseq: cseq) }
    }
}

extension OutboxRow {
    /// Whether it will not be sent, unless somebody wants it.
    var hasFailed: Bool { state != .queued }

    /// Whether it has failed, and is known not to be stored, or nobody can know: not one that was given up here, before the hub has
    /// said what became of it.
    var canBeRetried: Bool { hasFailed && state != .burning(.expired) }
}

extension DeliveryStage {
    /// Whether it waits for somebody to retry or discard it.
    var isFailed: Bool { if case .failed(let failure) = self { failure != .discarded } else { false } }
}
