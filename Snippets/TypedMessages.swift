// Values, requests and several consumers of one socket. Needs a server that speaks this way.
import Dispatch
import Holdfast

struct Tick: Codable, Sendable { let symbol: String, price: Double }
struct Subscribe: Codable, Sendable { let id: UInt64, symbols: [String] }
struct Subscribed: Codable, Sendable { let id: UInt64, count: Int }

let socket = WebSocket("ws://127.0.0.1:9001/")

// snippet.sending
try await socket.send("hello")
try await socket.send(value: Subscribe(id: 1, symbols: ["SAIL"]))
try await socket.send(json: ["type": "hello", "n": 1])
// snippet.end

// snippet.request
let answer: Subscribed = try await socket.request(timeout: .seconds(5)) { id in
    Subscribe(id: id, symbols: ["SAIL", "ROPE"])
}
print("\(answer.count) symbols")
// snippet.end

// snippet.matching
let welcome = try await socket.request(
    .text("hello"), matching: { $0 == .text("welcome") ? $0 : nil }, timeout: .seconds(5))
// snippet.end
print(welcome)

await withDiscardingTaskGroup { group in
    group.addTask {
        // snippet.log
        for await event in socket.events(buffering: .dropOldest(capacity: 100)) {
            switch event {
            case .opened(let opening): print("open after \(opening.downtime ?? .zero)")
            case .reconnecting(_, let delay, let cause): print("\(cause): again in \(delay)")
            case .undecodable(let message): print("no \(message.type): \(message.error)")
            case .missed(let count): print("\(count) events came too fast")
            case .closed(let closure): print("closed: \(closure)")
            default: break
            }
        }
        // snippet.end
    }
    group.addTask {
        // snippet.typed
        do {
            for try await tick in socket.stream(of: Tick.self) { print("\(tick.symbol): \(tick.price)") }
        } catch {
            print("no more ticks: \(error)")
        }
        // snippet.end
    }
}

// snippet.delegate
final class Screen: WebSocketDelegate {
    func webSocket(_ socket: WebSocket, didReceive message: Message) { print(message) }
    func webSocket(_ socket: WebSocket, didClose closure: Closure) { print("closed: \(closure)") }
}

let screen = Screen()
let adapter = WebSocketDelegateAdapter(socket, delegate: screen, queue: .main)
// snippet.end
print(adapter)
