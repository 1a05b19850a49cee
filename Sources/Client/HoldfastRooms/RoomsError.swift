public import Holdfast
import HoldfastProtocols
public import RoomCore

/// An error of a room operation; it says what failed, and whether a retry may help.
public enum RoomsError: Error, Sendable, CustomStringConvertible {
    /// The text is not a valid room name: 1 to 128 bytes of UTF-8 without control characters.
    case badName(String)
    /// The content could not be encoded as a payload.
    case badContent(String)
    /// The hub refuses this client, or refuses it this room.
    case refused(Refusal)
    /// The outbox did not accept the message, so the message does not exist.
    case notQueued(OutboxRefusal)
    /// The message is in the outbox and will not be sent, unless it is retried.
    case failed(OutboxFailure)
    /// The app discarded the message.
    case discarded
    /// The store could not be read or written.
    case store(String)
    /// The connection ended, and the client does not reconnect.
    case connection(WebSocketError)
    /// The server answers, but not as a rooms hub; the text says how it differs.
    ///
    /// The URL may be that of another service. The client tries again, as after any lost connection.
    case notAHub(String)
    /// The operation did not complete in time; it may still complete.
    ///
    /// The cause is what keeps this client from its hub: ``connection(_:)`` with the last connection error, ``notAHub(_:)``,
    /// ``refused(_:)``, or ``timedOut(_:cause:)`` for the token. It is nil while the client is online, and if nothing has failed so far.
    indirect case timedOut(String, cause: RoomsError? = nil)
    /// The task was cancelled while it waited.
    case cancelled
    /// The rooms were closed.
    ///
    /// Messages in the outbox are sent when rooms are opened on the same store again. A message that had not reached the outbox fails
    /// with ``notQueued(_:)``.
    case closed
    /// The room was left.
    case left
    /// The outbox contains no message with this ID.
    case unknownMessage(MessageID)

    /// What went wrong, in one word: the error without its values.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name, as the case has it.
        public let description: String

        /// The name of a room breaks the rules.
        public static let badName = Code(description: "badName")
        /// The content could not be encoded.
        public static let badContent = Code(description: "badContent")
        /// The hub refused.
        public static let refused = Code(description: "refused")
        /// The outbox did not take the message.
        public static let notQueued = Code(description: "notQueued")
        /// The message will not be sent, unless it is retried.
        public static let failed = Code(description: "failed")
        /// The app discarded the message.
        public static let discarded = Code(description: "discarded")
        /// The store could not be read or written.
        public static let store = Code(description: "store")
        /// The connection ended for good.
        public static let connection = Code(description: "connection")
        /// The server is no hub of rooms.
        public static let notAHub = Code(description: "notAHub")
        /// The time allowed was over.
        public static let timedOut = Code(description: "timedOut")
        /// The task was cancelled.
        public static let cancelled = Code(description: "cancelled")
        /// The rooms were closed.
        public static let closed = Code(description: "closed")
        /// The room was left.
        public static let left = Code(description: "left")
        /// The outbox has no such message.
        public static let unknownMessage = Code(description: "unknownMessage")
    }

    /// What went wrong, in one word.
    public var code: Code {
        switch self {
        case .badName: .badName
        case .badContent: .badContent
        case .refused: .refused
        case .notQueued: .notQueued
        case .failed: .failed
        case .discarded: .discarded
        case .store: .store
        case .connection: .connection
        case .notAHub: .notAHub
        case .timedOut: .timedOut
        case .cancelled: .cancelled
        case .closed: .closed
        case .left: .left
        case .unknownMessage: .unknownMessage
        }
    }

    /// The error that caused this one: of the connection, or what kept this client from its hub until the time was over.
    public var underlying: (any Error)? {
        switch self {
        case .connection(let error): error
        case .timedOut(_, let cause): cause
        default: nil
        }
    }

    /// Whether the same operation may succeed later without a change by the app or the user.
    public var isRetryable: Bool {
        switch self {
        case .refused(let refusal): refusal.retry != .never
        case .notQueued(.tooMany), .notQueued(.tooMuch), .notQueued(.store), .store, .notAHub, .timedOut: true
        case .connection(let error): error.isRetryable
        case .badName, .badContent, .notQueued, .failed, .discarded, .cancelled, .closed, .left, .unknownMessage: false
        }
    }

    /// A text that says what failed, and whether it may be retried.
    public var description: String { isRetryable ? "\(words); may be retried" : words }

    private var words: String {
        switch self {
        case .badName(let name):
            "\(String(name.prefix(64)).debugDescription) is not a valid room name: 1 to 128 bytes without control characters"
        case .badContent(let text): "the content could not be encoded: \(text)"
        case .refused(let refusal): "the hub refused it (\(refusal.code)): \(refusal.text)"
        case .notQueued(let refusal): "the message was not queued: \(refusal.words)"
        case .failed(let failure): "the message will not be sent (\(failure.code)): \(failure.text)"
        case .discarded: "the message was discarded"
        case .store(let text): "the store failed: \(text)"
        case .connection(let error): "the connection ended for good: \(error.words)"
        case .notAHub(let text): "the server is not a rooms hub: \(text)"
        case .timedOut(let what, nil): "\(what) timed out"
        // There is no connection at present, and another attempt follows.
        case .timedOut(let what, .connection(let error)?): "\(what) timed out: there is no connection (\(error.words))"
        case .timedOut(let what, let cause?): "\(what) timed out: \(cause.words)"
        case .cancelled: "the task was cancelled"
        case .closed: "the rooms are closed; what is in the outbox is sent when they are opened again"
        case .left: "the room was left"
        case .unknownMessage(let id): "no message \(id) is in the outbox"
        }
    }
}

extension OutboxRefusal {
    /// The reason, as a text.
    var words: String {
        switch self {
        case .tooMany(let count): "\(count) messages wait already"
        case .tooMuch(let bytes): "\(bytes) bytes wait already"
        case .tooLong: "its payload or type is too long, or its type is empty"
        case .notJSON: "its payload is not JSON that every client can read"
        case .notJoined: "the room has not been joined"
        case .store(let isFull): isFull ? "the disk is full" : "the store cannot write"
        case .closed: "the rooms are closed"
        }
    }
}

extension RoomsError {
    /// Converts a failure to get a token.
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
