import Holdfast
import RoomCore

/// The state of one room, with its receipts and everything that waits for changes.
struct RoomObservers {
    private struct Follower {
        /// Weak, because the app owns the receipt.
        weak var receipt: Receipt?
        let changes: Changes
    }

    /// The room's state; changing it directly notifies nobody, use ``change(_:_:)`` for that.
    var record: RoomRecord
    let changes = Changes()
    var signals: [UInt64: AsyncStream<ReceivedSignal>.Continuation] = [:]
    /// The followers, by the numbers of their receipts.
    private var followers: [UInt64: Follower] = [:]

    init(user: UserName?) { record = RoomRecord(user: user) }

    /// Changes the state and notifies all that wait for a change.
    mutating func change<Value>(_ actions: inout [RoomsView.Action], _ body: (inout RoomRecord) -> Value) -> Value {
        let value = body(&record)
        actions.append(.announce(changes))
        actions += record.takeChanged().compactMap { followers[$0].map { .announce($0.changes) } }
        return value
    }

    /// Returns the receipt of a message: the existing one, or else `made`; nil if no such message is in the outbox.
    ///
    /// The caller must keep both alive until it has released the lock, because the deinitialiser of a receipt takes the lock.
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
