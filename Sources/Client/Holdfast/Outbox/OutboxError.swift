/// Why an outbox cannot be opened, or does not take a message.
public enum OutboxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// As many messages wait as `OutboxPolicy.capacity` allows, or as many bytes.
    case full
    /// A message with this id waits already.
    case duplicate
    /// The socket is closed for good.
    case closed
    /// Another outbox has the file open, in this process or in another one.
    case inUse(String)
    /// The file is damaged at this line, counted from 1, or is not one of an outbox; it is left as it is.
    case damaged(String, line: Int)
    /// The message or its id cannot be encoded; text says why.
    case codec(String)
    /// The file cannot be read or written, as the system says; the message was not taken.
    case storage(String)

    /// What happened, and what helps.
    public var description: String {
        switch self {
        case .full: "the outbox is full: wait until the server has acknowledged some messages, or raise its capacity"
        case .duplicate: "a message with this id waits in the outbox already"
        case .closed: "the socket is closed"
        case .inUse(let path): "\(path) is open in another outbox: a file belongs to one outbox at a time"
        case .damaged(let path, let line): "line \(line) of \(path) is damaged, or the file is not one of an outbox"
        case .codec(let reason): "the message cannot be encoded: \(reason)"
        case .storage(let reason): "the file of the outbox cannot be used: \(reason)"
        }
    }
}
