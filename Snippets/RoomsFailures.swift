// What to do when a message could not be sent.
import HoldfastRooms

func say(_ text: String, in room: Room) async {
    do throws(RoomsError) {
        let place = try await room.send(ChatText(text)).stored(within: .seconds(5))
        print("stored as \(place.seq)")
    } catch {
        switch error {
        case .notQueued(let refusal): print("it does not exist: \(refusal)")
        case .timedOut: print("it waits in the outbox, and goes out when it can: \(error)")
        case .failed(let failure): print("it will not be sent, unless it is retried: \(failure.text)")
        default: print(error)
        }
    }
    for waiting in room.outbox {
        if case .failed = waiting.stage { try? room.rooms.discard(waiting.id) }
    }
}

// snippet.hide
let rooms = Rooms("ws://127.0.0.1:9001/rooms", store: MemoryRoomStore()) { "dev:ann" }
await say("hi", in: try await rooms.join("lobby"))
