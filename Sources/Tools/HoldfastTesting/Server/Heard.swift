import Holdfast

/// What a scripted server hears of a client.
enum Heard: Sendable {
    case request(RequestHead)
    case message(Message)
    case ping([UInt8])
    case pong
    case close(CloseFrame)
    /// The connection is over, or of no more use; why, in words.
    case end(String)
    /// Nothing, for too long.
    case silence(Duration)

    /// What waits in memory because of it.
    var byteCount: Int {
        switch self {
        case .message(let message): message.byteCount + 64
        default: 64
        }
    }

    /// In words, as an error says it.
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

/// A client did not do what a ``ServerScript`` expects.
public struct ScriptMismatch: Error, Hashable, Sendable, CustomStringConvertible {
    /// Which connection, from 1.
    public let connection: Int
    /// Which step of its script, from 1; 0 if the script did not begin in time.
    public let step: Int
    /// What the script expects, in words.
    public let expected: String
    /// What happened instead, in words.
    public let found: String

    /// Such as `connection 1, step 3: expected the text "hi", found the end of the connection`.
    public var description: String { "connection \(connection), step \(step): expected \(expected), found \(found)" }
}
