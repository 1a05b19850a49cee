// Messages of an app's own, and those of a newer version of it.
import HoldfastRooms

struct Move: RoomContent {
    static let typeName = "game.move"
    var from: String
    var to: String
}

func play(_ room: Room) async throws {
    try await room.send(Move(from: "e2", to: "e4")).stored(within: .seconds(10))
    let contents = RoomContents(ChatText.self, Move.self)
    for try await case .entry(let entry) in room.messages {
        switch contents.read(entry) {
        case .known(let move as Move): print("\(entry.user) plays \(move.from)\(move.to)")
        case .known, .unreadable: break
        case .unknown(let type, _): print("something newer: \(type)")
        }
    }
}

// snippet.hide
let rooms = Rooms("ws://127.0.0.1:9001/rooms", store: MemoryRoomStore()) { "dev:ann" }
try await play(try await rooms.join("chess"))
