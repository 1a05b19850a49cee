import HoldfastRooms
import RoomCore

@testable import HoldfastUI

/// A test message with a number in the log.
func chatMessage(_ seq: Int64, _ user: String?, at time: Int64, own: Bool = false, _ text: String = "hi") throws -> ChatMessage {
    var chance = SystemRandomNumberGenerator()
    let id = MessageID(at: 0, using: &chance)
    return ChatMessage(id: id, seq: seq, user: user.flatMap { UserName($0) }, isOwn: own, text: text, at: time)
}
