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
