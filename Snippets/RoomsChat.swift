// Two lines of a chat that survives. Start `holdfast serve hub --dev`, run this, then stop and start the hub.
import HoldfastRooms

let store = try SQLiteRoomStore(path: "rooms-of-ann")
let rooms = Rooms("ws://127.0.0.1:9001/rooms", store: store) { "dev:ann" }
let room = try await rooms.join("lobby")
let receipt = try await room.send(ChatText("hi"))
for await stage in receipt.stages { print(stage) }
for try await update in room.messages {
    switch update {
    case .entry(let entry): print("\(entry.seq) \(entry.user): \(entry.content(ChatText.self)?.text ?? entry.type)")
    case .replaced: print("after a long absence: what follows does not join what came before")
    }
}
// snippet.hide
await rooms.close()
