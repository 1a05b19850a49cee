import Holdfast

/// An event that a scripted server receives from a client.
enum ScriptedInput: Sendable {
    case request(RequestHead)
    case message(Message)
    case ping([UInt8])
    case pong
    case close(CloseFrame)
    /// The connection is over or unusable; the reason in words.
    case end(String)
    /// No event for too long.
    case silence(Duration)

    /// The memory that the event takes while it waits, in bytes.
    var byteCount: Int {
        switch self {
        case .message(let message): message.byteCount + 64
        default: 64
        }
    }

    /// The event in words, for an error message.
    var words: String {
        switch self {
        case .request: "a request"
        case .message(let message): ServerStep.words(message)
        case .ping: "a ping"
        case .pong: "a pong"
        case .close(let frame): "a close with \(frame.code?.description ?? "no code")"
        case .end(let reason): reason
        case .silence(let patience): "nothing within \(patience)"
        }
    }
}

/// A mismatch between a client's behaviour and a ``ServerScript``.
public struct ScriptMismatch: Error, Hashable, Sendable, CustomStringConvertible {
    /// The number of the connection, from 1.
    public let connection: Int
    /// The number of the step, from 1; 0 if the script did not begin in time.
    public let step: Int
    /// What the script expected, in words.
    public let expected: String
    /// What happened instead, in words.
    public let found: String

    /// The mismatch as a message, such as `connection 1, step 3: expected the text "hi", found the end of the connection`.
    public var description: String { "connection \(connection), step \(step): expected \(expected), found \(found)" }
}
