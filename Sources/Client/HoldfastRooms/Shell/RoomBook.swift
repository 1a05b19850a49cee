import Holdfast
import RoomCore

/// A room as its app has it: what is known of it, and who waits for more.
struct RoomBook {
    private struct Follower {
        /// Belongs to the app.
        weak var receipt: Receipt?
        let changes: Changes
    }

    /// What is known; a change here wakes nobody, as ``change(_:_:)`` does.
    var record: RoomRecord
    let changes = Changes()
    var signals: [UInt64: AsyncStream<ReceivedSignal>.Continuation] = [:]
    /// By the numbers of their receipts.
    private var followers: [UInt64: Follower] = [:]

    init(user: UserName?) { record = RoomRecord(user: user) }

    /// Changes what is known, and wakes those who wait for it.
    mutating func change<Value>(_ actions: inout [RoomsView.Action], _ body: (inout RoomRecord) -> Value) -> Value {
        let value = body(&record)
        actions.append(.announce(changes))
        actions += record.takeChanged().compactMap { followers[$0].map { .announce($0.changes) } }
        return value
    }

    /// The receipt of a message: the one that the app has already, or else `made`; nil if no such message is in the outbox.
    ///
    /// Whoever calls keeps both until the lock is free: the end of a receipt takes the lock.
    mutating func follow(with made: Receipt) -> Receipt? {
        if let receipt = record.follower(of: made.id).flatMap({ followers[$0]?.receipt }) { return receipt }
        guard record.follow(made.id, as: made.number) else { return nil }
        followers[made.number] = Follower(receipt: made, changes: made.changes)
        return made
    }

    mutating func unfollow(_ number: UInt64) {
        followers[number] = nil
        record.unfollow(number)
    }

    var followed: [Changes] { followers.values.map(\.changes) }
}
