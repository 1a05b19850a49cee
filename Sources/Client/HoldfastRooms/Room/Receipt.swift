import Holdfast
import WebSocketRuntime
import HoldfastProtocols
public import RoomCore

/// Tells what becomes of one message: queued, sent, stored, seen.
///
/// It is as good after any number of reconnects. When the app ends, the message lives on in the outbox, and ``Room/receipt(for:)`` of the
/// next start gives another receipt for it.
public final class Receipt: Sendable {
    /// The name of the message.
    public let id: MessageID
    /// Where it goes.
    public let room: RoomName
    let shell: RoomsShell
    /// Another one for each receipt.
    let number: UInt64
    let changes = Changes()

    init(id: MessageID, room: RoomName, shell: RoomsShell) {
        (self.id, self.room, self.shell) = (id, room, shell)
        number = shell.access { view in view.nextNumber() }
    }

    deinit { shell.access { view in view.books[room]?.unfollow(number) } }

    /// What has become of it so far.
    public var stage: DeliveryStage { standing.stage }

    var standing: (stage: DeliveryStage, ending: RoomsError?) { shell.access { view in view.standing(of: self) } }

    /// Waits until the hub has the message on disk; returns its place.
    ///
    /// - Parameter patience: How long to wait; nil: as long as it takes, until the task is cancelled or the rooms are closed.
    /// - Throws: ``RoomsError/failed(_:)`` if it will not be sent unless it is retried, ``RoomsError/discarded``; anything else, such as
    ///   ``RoomsError/timedOut(_:cause:)``, ``RoomsError/cancelled`` and ``RoomsError/closed``, ends the wait only: it is still in the outbox.
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

    /// Sends the message after all, if it has failed; ``stored(within:)`` and ``stages`` tell what becomes of that.
    ///
    /// - Throws: ``RoomsError/unknownMessage(_:)`` if it is not in the outbox, or has not failed.
    public func retry() throws(RoomsError) { try shell.retry(id) }

    /// Takes the message out of the outbox; see ``Rooms/discard(_:)``.
    ///
    /// - Throws: ``RoomsError/unknownMessage(_:)`` if it is not in the outbox.
    public func discard() throws(RoomsError) { try shell.discard(id) }

    /// What becomes of it, the present stage first, until it is stored, or failed, or was discarded; or the rooms are closed.
    ///
    /// Whoever is slow misses stages in between, never the last.
    public var stages: ReceiptStages { ReceiptStages(receipt: self, goesOn: false) }

    /// The same, and then by whom it was seen, as long as the task and the rooms live.
    public var stagesUntilSeen: ReceiptStages { ReceiptStages(receipt: self, goesOn: true) }
}

/// The stages of a message; see ``Receipt/stages``.
public struct ReceiptStages: AsyncSequence, Sendable {
    /// What has become of it.
    public typealias Element = DeliveryStage
    /// The sequence never fails.
    public typealias Failure = Never
    let receipt: Receipt
    let goesOn: Bool

    /// Starts with the present stage.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(receipt: receipt, goesOn: goesOn) }

    /// Takes stages one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let receipt: Receipt
        let goesOn: Bool
        private var last: DeliveryStage?
        private var isOver = false

        init(receipt: Receipt, goesOn: Bool) { (self.receipt, self.goesOn) = (receipt, goesOn) }

        /// Waits for another stage; nil after the last, or when the task is cancelled.
        public mutating func next() async -> DeliveryStage? { await next(isolation: nil) }

        /// Waits for another stage; nil after the last, or when the task is cancelled.
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
