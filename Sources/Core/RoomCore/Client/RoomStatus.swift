/// All that is known of a room at one moment, but for its entries.
public struct RoomStatus: Hashable, Sendable {
    /// Where it stands.
    public var phase = RoomPhase.loading
    /// The last entry that is stored here.
    public var cursor = LogPosition.nowhere
    /// The number of the first entry that is stored here; `cursor.seq` + 1 if none is.
    public var first: Int64 = 1
    /// Who is present, each user once, by name.
    public var members: [RoomMember] = []
    /// How many connections are present; more than are listed in a large room.
    public var total: Int64 = 0
    /// Who types, but not the own user.
    public var typing: [UserName] = []
    /// How far the users have read, as far as it was told.
    public var reads: [UserName: Int64] = [:]
    /// How far the own user has read.
    public var read: Int64 = 0
    /// What was submitted and is not among the entries yet, in order.
    public var outbox: [PendingMessage] = []
    /// Who we are; nil before the hub has said it.
    public var user: UserName?
    /// Whether all that is in the log is here.
    public var isLive: Bool { if case .live = phase { true } else { false } }

    /// Nothing is known.
    public init() {}
}

/// Somebody who is present, with as many connections as there are.
public struct RoomMember: Hashable, Sendable, Identifiable {
    /// Who.
    public var user: UserName
    /// Each connection, in the order of their names, with its status and metadata.
    public var connections: [PresentMember]

    /// The user.
    public var id: UserName { user }

    /// Somebody who is present.
    public init(user: UserName, connections: [PresentMember]) { (self.user, self.connections) = (user, connections) }

    /// Puts the connections of a user together.
    package static func grouped(_ members: [PresentMember]) -> [RoomMember] {
        Dictionary(grouping: members, by: \.user).map { user, connections in
            RoomMember(user: user, connections: connections.sorted { $0.connection < $1.connection })
        }.sorted { $0.user < $1.user }
    }
}

/// A message that was submitted and is not among the entries yet.
public struct PendingMessage: Hashable, Sendable, Identifiable {
    /// Its name.
    public let id: MessageID
    /// When it was submitted, in milliseconds since 1970 UTC.
    public let sent: Int64
    /// What it says.
    public let content: Publication.Content
    /// What has become of it.
    public internal(set) var stage: DeliveryStage
    /// Its number in the outbox; nil before it has one.
    var cseq: Int64?

    /// A message that waits.
    public init(id: MessageID, sent: Int64, content: Publication.Content, stage: DeliveryStage) {
        (self.id, self.sent, self.content, self.stage) = (id, sent, content, stage)
    }

    /// Whether an app sees no difference.
    public static func == (lhs: PendingMessage, rhs: PendingMessage) -> Bool {
        (lhs.id, lhs.sent, lhs.content, lhs.stage) == (rhs.id, rhs.sent, rhs.content, rhs.stage)
    }

    /// Hashes its name and stage.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(stage)
    }
}

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
