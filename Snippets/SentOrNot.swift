// What becomes of messages while there is no connection. Start `holdfast serve echo`, run this, and stop the server in between.
import Holdfast

// snippet.queue
let socket = WebSocket("ws://127.0.0.1:9001/") { options in
    options.sending = SendPolicy(
        whileDisconnected: .queue, capacity: SendVolume(count: 500, bytes: 1 << 20), overflow: .dropOldest)
}
let order = try await socket.send(tracked: .text("buy"), lane: .urgent, timeout: .seconds(10))
switch await order.outcome() {
case .written: print("on its way to the server")
case .refused(let reason): print("never left: \(reason)")
case .unknown: print("it may have arrived: ask the server before sending it again")
}
// snippet.end
print("\(socket.sendQueueDepth.count) messages wait, \(socket.droppedSends) were dropped")
await socket.close()
