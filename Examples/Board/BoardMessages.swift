// snippet.MESSAGES
/// What this app says: JSON with one key, such as `{"post":{"id":1,"channel":"news","text":"hello"}}`.
package enum BoardRequest: Codable, Hashable, Sendable {
    /// Who we are: a name that no other client has, nor ever had.
    case hello(name: String)
    /// Keep this once, however often it comes with this id; `ack` or `refused` answers.
    case post(id: UInt64, channel: String, text: String)
    /// Send the items of a channel behind this number, under this id; `following` or `refused` answers.
    case follow(id: UInt64, channel: String, after: Int)
    case unfollow(id: UInt64)
    case pong
}

/// What the server says: at least a ping each second.
package enum BoardReply: Codable, Hashable, Sendable {
    case welcome
    case ack(id: UInt64)
    case refused(id: UInt64, reason: String)
    case following(id: UInt64)
    case item(id: UInt64, number: Int, text: String)
    case ping
}
// snippet.end
