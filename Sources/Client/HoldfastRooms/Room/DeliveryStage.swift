public import RoomCore

/// What has become of a message: the ladder from the app to the other members.
public enum DeliveryStage: Hashable, Sendable {
    /// It is being written to the outbox.
    case submitted
    /// It is in the outbox, on disk: it survives the end of the app.
    case queued
    /// It was handed to a connection; if that is lost, it is sent again.
    case sent
    /// The hub has it on disk, at this place of the room's order; a number of 0 if retention has passed it.
    case stored(LogPosition)
    /// It is stored, and these others have read up to it.
    case seen(LogPosition, by: [UserName])
    /// It will not be sent, unless it is retried.
    case failed(OutboxFailure)
    /// The app has discarded it.
    case discarded

    /// Why a message will not be sent; nil of all others.
    public var failure: OutboxFailure? { if case .failed(let failure) = self { failure } else { nil } }

    /// The place of a message that is stored.
    public var position: LogPosition? {
        switch self {
        case .stored(let position), .seen(let position, _): position
        case .submitted, .queued, .sent, .failed, .discarded: nil
        }
    }
}
