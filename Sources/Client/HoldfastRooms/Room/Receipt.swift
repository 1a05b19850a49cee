import Holdfast
import WebSocketRuntime
import HoldfastProtocols
public import RoomCore

/// Reports the delivery of one message: queued, sent, stored, seen.
///
/// A receipt stays valid across any number of reconnects. When the app ends, the message stays in the outbox; after the next start,
/// ``Room/receipt(for:)`` returns a new receipt for it.
public final class Receipt: Sendable {
    /// The ID of the message.
    public let id: MessageID
    /// The room of the message.
    public let room: RoomName
    let shell: RoomsShell
    /// A unique number of this receipt.
    let number: UInt64
    let changes = Changes()

    init(id: MessageID, room: RoomName, shell: RoomsShell) {
        (self.id, self.room, self.shell) = (id, room, shell)
        number = shell.access { view in view.nextNumber() }
    }

    deinit { shell.access { view in view.observers[room]?.unfollow(number) } }

    /// The current delivery stage.
    public var stage: DeliveryStage { standing.stage }

    var standing: (stage: DeliveryStage, ending: RoomsError?) { shell.access { view in view.standing(of: self) } }

    /// Waits until the hub has the message on disk; returns its position.
    ///
    /// - Parameter patience: How long to wait; nil waits until the message is stored, the task is cancelled, or the rooms are closed.
    /// - Throws: ``RoomsError/failed(_:)`` if the message will not be sent unless it is retried, and ``RoomsError/discarded``. Any other
    ///   error, such as ``RoomsError/timedOut(_:cause:)``, ``RoomsError/cancelled`` and ``RoomsError/closed``, ends only the wait: the
    ///   message is still in the outbox.
    @discardableResult
    public func stored(within patience: Duration? = nil) async throws(RoomsError) -> LogPosition {
        try await shell.wait(for: "storing the message", on: changes, within: patience) { () throws(RoomsError) in
            let (stage, ending) = standing
            switch stage {
            case .stored(let position), .seen(let position, _): return position
            case .failed(let failure): throw .failed(failure)
            case .discarded: throw .discarded
            case .submitted, .queued, .sent: break
            }
            if let ending { throw ending }
            return nil
        }
    }

    /// Sends a failed message again; ``stored(within:)`` and ``stages`` report the new attempt.
    ///
    /// - Throws: ``RoomsError/unknownMessage(_:)`` if the message is not in the outbox, or has not failed.
    public func retry() throws(RoomsError) { try shell.retry(id) }

    /// Removes the message from the outbox; see ``Rooms/discard(_:)``.
    ///
    /// - Throws: ``RoomsError/unknownMessage(_:)`` if the message is not in the outbox.
    public func discard() throws(RoomsError) { try shell.discard(id) }

    /// The delivery stages, starting with the current one, until the message is stored, failed or discarded, or the rooms are closed.
    ///
    /// A slow reader misses stages in between, but never the last one.
    public var stages: ReceiptStages { ReceiptStages(receipt: self, goesOn: false) }

    /// The same stages, followed by who has seen the message, until the task is cancelled or the rooms are closed.
    public var stagesUntilSeen: ReceiptStages { ReceiptStages(receipt: self, goesOn: true) }
}

/// The delivery stages of a message; see ``Receipt/stages``.
public struct ReceiptStages: AsyncSequence, Sendable {
    /// A delivery stage.
    public typealias Element = DeliveryStage
    /// The sequence never fails.
    public typealias Failure = Never
    let receipt: Receipt
    let goesOn: Bool

    /// Creates an iterator that starts with the current stage.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(receipt: receipt, goesOn: goesOn) }

    /// Iterates over the stages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let receipt: Receipt
        let goesOn: Bool
        private var last: DeliveryStage?
        private var isOver = false

        init(receipt: Receipt, goesOn: Bool) { (self.receipt, self.goesOn) = (receipt, goesOn) }

        /// Waits for the next stage; returns nil after the last one, or when the task is cancelled.
        public mutating func next() async -> DeliveryStage? { await next(isolation: nil) }

        /// Waits for the next stage; returns nil after the last one, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> DeliveryStage? {
            while !isOver, !Task.isCancelled {
                let version = receipt.changes.version
                let (stage, ending) = receipt.standing
                if stage != last {
                    last = stage
                    isOver = stage.isLast(goesOn: goesOn)
                    return stage
                }
                if ending != nil { return nil }
                await receipt.changes.next(after: version)
            }
            return nil
        }
    }
}

extension DeliveryStage {
    fileprivate func isLast(goesOn: Bool) -> Bool {
        switch self {
        case .submitted, .queued, .sent: false
        case .stored, .seen, .failed: !goesOn
        case .discarded: true
        }
    }
}
