public import Holdfast
import HoldfastProtocols
public import RoomCore

/// Why something in a room did not come about; says what failed, and whether trying again may help.
public enum RoomsError: Error, Sendable, CustomStringConvertible {
    /// Not a room's name: 1 to 128 bytes of UTF-8 without control characters.
    case badName(String)
    /// The content could not be made into a payload.
    case badContent(String)
    /// The hub does not let this client in, or not into this room.
    case refused(Refusal)
    /// The message was not taken into the outbox: it does not exist.
    case notQueued(OutboxRefusal)
    /// The message is in the outbox and will not be sent, unless it is retried.
    case failed(OutboxFailure)
    /// The message left the outbox because the app discarded it.
    case discarded
    /// What is stored could not be read or written.
    case store(String)
    /// The connection ended, and no other follows.
    case connection(WebSocketError)
    /// The server answers, but not as a hub of rooms does; the text says how it differs.
    ///
    /// The URL may be that of another service. It is asked again, as after any loss.
    case notAHub(String)
    /// It did not come about in the time allowed; it may still.
    ///
    /// The cause is what keeps this client from its hub: ``connection(_:)`` with the last loss, ``notAHub(_:)``, ``refused(_:)``, or
    /// ``timedOut(_:cause:)`` of the token. It is nil while the hub knows us, and if nothing has failed so far.
    indirect case timedOut(String, cause: RoomsError? = nil)
    /// The task was cancelled while it waited.
    case cancelled
    /// The rooms were closed.
    ///
    /// What is in the outbox is sent when rooms are opened on the same store again; a message that did not get there fails with
    /// ``notQueued(_:)``.
    case closed
    /// The room was left.
    case left
    /// No message of this name is in the outbox.
    case unknownMessage(MessageID)

    /// Whether the same may succeed later, without anybody changing anything.
    public var isRetryable: Bool {
        switch self {
        case .refused(let refusal): refusal.retry != .never
        case .notQueued(.tooMany), .notQueued(.tooMuch), .notQueued(.store), .store, .notAHub, .timedOut: true
        case .connection(let error): error.isRetryable
        case .badName, .badContent, .notQueued, .failed, .discarded, .cancelled, .closed, .left, .unknownMessage: false
        }
    }

    /// What failed, and whether it may be retried.
    public var description: String { isRetryable ? "\(words); may be retried" : words }

    private var words: String {
        switch self {
        case .badName(let name): "\(String(name.prefix(64)).debugDescription) is no name of a room, 1 to 128 bytes without controls"
        case .badContent(let text): "the content could not be encoded: \(text)"
        case .refused(let refusal): "the hub refused it (\(refusal.code)): \(refusal.text)"
        case .notQueued(let refusal): "the message was not queued: \(refusal.words)"
        case .failed(let failure): "the message will not be sent (\(failure.code)): \(failure.text)"
        case .discarded: "the message was discarded"
        case .store(let text): "the store failed: \(text)"
        case .connection(let error): "the connection ended for good: \(error.words)"
        case .notAHub(let text): "the server is no hub of rooms: \(text)"
        case .timedOut(let what, nil): "\(what) did not come about in time"
        // There is none at present, and another attempt follows.
        case .timedOut(let what, .connection(let error)?): "\(what) did not come about in time: there is no connection (\(error.words))"
        case .timedOut(let what, let cause?): "\(what) did not come about in time: \(cause.words)"
        case .cancelled: "the task was cancelled"
        case .closed: "the rooms are closed; what is in the outbox is sent when they are opened again"
        case .left: "the room was left"
        case .unknownMessage(let id): "no message \(id) is in the outbox"
        }
    }
}

extension OutboxRefusal {
    /// Why, for people.
    var words: String {
        switch self {
        case .tooMany(let count): "\(count) messages wait already"
        case .tooMuch(let bytes): "\(bytes) bytes wait already"
        case .tooLong: "its payload or type is too long, or its type is empty"
        case .notJSON: "its payload is no JSON that everybody can read"
        case .notJoined: "the room has not been joined"
        case .store(let isFull): isFull ? "the disk is full" : "the store cannot write"
        case .closed: "the rooms are closed"
        }
    }
}

extension RoomsError {
    /// There is no token.
    init(_ failure: TokenSource.Failure) {
        self =
            switch failure {
            case .refused(let reason): .refused(Refusal(.token, "\(reason)"))
            case .failed(let type): .timedOut("the token (\(type))")
            case .timedOut: .timedOut("the token")
            case .cancelled: .cancelled
            }
    }
}
