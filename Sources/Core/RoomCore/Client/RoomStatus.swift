/// A snapshot of what the client knows about a room, without its entries.
public struct RoomStatus: Hashable, Sendable {
    /// The phase of the room.
    public var phase = RoomPhase.loading
    /// The position of the last stored entry.
    public var cursor = LogPosition.nowhere
    /// The number of the first stored entry; `cursor.seq` + 1 if none is stored.
    public var first: Int64 = 1
    /// The present users, sorted by name, each listed once.
    public var members: [RoomMember] = []
    /// The number of present connections; in a large room there are more than are listed.
    public var total: Int64 = 0
    /// The users who are typing, without the own user.
    public var typing: [UserName] = []
    /// How far each user has read, as far as the hub has reported it.
    public var reads: [UserName: Int64] = [:]
    /// How far the own user has read.
    public var read: Int64 = 0
    /// The submitted messages that are not among the entries yet, in order.
    public var outbox: [PendingMessage] = []
    /// The own user; nil before the hub has named it.
    public var user: UserName?
    /// Whether the client has all entries of the log.
    public var isLive: Bool { if case .live = phase { true } else { false } }

    /// Creates the status of a room that nothing is known about.
    public init() {}
}

/// A user who is present in a room, with all of the user's connections.
public struct RoomMember: Hashable, Sendable, Identifiable {
    /// The user's name.
    public var user: UserName
    /// The user's connections, sorted by name, each with its status and metadata.
    public var connections: [PresentMember]

    /// The user.
    public var id: UserName { user }

    /// Creates a member from a user and its connections.
    public init(user: UserName, connections: [PresentMember]) { (self.user, self.connections) = (user, connections) }

    /// Groups connections by user.
    package static func grouped(_ members: [PresentMember]) -> [RoomMember] {
        Dictionary(grouping: members, by: \.user).map { user, connections in
            RoomMember(user: user, connections: connections.sorted { $0.connection < $1.connection })
        }.sorted { $0.user < $1.user }
    }
}

/// A submitted message that is not among the entries yet.
public struct PendingMessage: Hashable, Sendable, Identifiable {
    /// The message's ID.
    public let id: MessageID
    /// When it was submitted, in milliseconds since 1970 UTC.
    public let sent: Int64
    /// The message's content.
    public let content: Publication.Content
    /// How far the message has come.
    public internal(set) var stage: DeliveryStage
    /// The message's number in the outbox; nil before it has one.
    var cseq: Int64?

    /// Creates a pending message.
    public init(id: MessageID, sent: Int64, content: Publication.Content, stage: DeliveryStage) {
        (self.id, self.sent, self.content, self.stage) = (id, sent, content, stage)
    }

    /// Compares all that an app can see; the number in the outbox does not count.
    public static func == (lhs: PendingMessage, rhs: PendingMessage) -> Bool {
        (lhs.id, lhs.sent, lhs.content, lhs.stage) == (rhs.id, rhs.sent, rhs.content, rhs.stage)
    }

    /// Hashes the ID and the stage.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(stage)
    }
}

/// How far a message has come on its way from the app to the other members.
public enum DeliveryStage: Hashable, Sendable {
    /// The client is writing the message to the outbox.
    case submitted
    /// The message is in the outbox on disk and survives a restart of the app.
    case queued
    /// The client gave the message to a connection; if that connection is lost, the client sends it again.
    case sent
    /// The hub has the message on disk, at this position of the log; the number is 0 if retention has already deleted it.
    case stored(LogPosition)
    /// The message is stored, and these other users have read up to it.
    case seen(LogPosition, by: [UserName])
    /// The message has failed and is not sent unless the app retries it.
    case failed(OutboxFailure)
    /// The app has discarded it.
    case discarded

    /// Why the message failed; nil in all other stages.
    public var failure: OutboxFailure? { if case .failed(let failure) = self { failure } else { nil } }

    /// The log position of a stored message; nil in all other stages.
    public var position: LogPosition? {
        switch self {
        case .stored(let position), .seen(let position, _): position
        case .submitted, .queued, .sent, .failed, .discarded: nil
        }
    }
}
