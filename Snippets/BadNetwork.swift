// How an app's model lives with a bad network, tested over a real one: a scripted server, and a link that fails on command.
import HoldfastTesting

// snippet.model
/// What a screen shows: the last price, and whether it is live.
@MainActor final class PriceModel {
    private(set) var price = "none"
    private(set) var isLive = false

    /// Shows what the server says, until it says no more; tells of every change.
    func follow(_ socket: WebSocket, changed: () async -> Void) async {
        for await event in socket.events {
            switch event {
            case .opened:
                isLive = true
                _ = try? await socket.send(.text("subscribe"))
            case .message(.text(let text)): price = text
            case .reconnecting, .closed: isLive = false
            default: continue
            }
            await changed()
        }
    }
}
// snippet.end

// snippet.test
let server = try await ScriptedServer.start(
    [.expect("subscribe"), .send("101")],
    [.refuse(status: 503, retryAfter: .seconds(1))],
    [.expect("subscribe"), .send("102"), .close()])
let (link, clock) = (try await FaultyLink.start(to: server.port), ManualClock())
let script = try FaultScript("delay 5ms..20ms; after 10m cut rst")
async let faults: Void = link.follow(script, seed: 1, clock: clock)

let model = PriceModel()
var seen: [String] = []
await model.follow(WebSocket("ws://127.0.0.1:\(link.port)/")) {
    seen.append("\(model.price) \(model.isLive ? "live" : "stale")")
    // Ten minutes pass for the link as soon as the first connection has brought a price.
    if seen.last == "101 live", link.accepted == 1 { clock.advance(by: await clock.nextSleep()) }
}
try await faults
let visits = try await server.played(3)
// snippet.end
precondition(visits.count == 3 && seen.first == "none live" && seen.contains("101 stale") && seen.last == "102 stale", "\(seen)")
print("closed after: \(seen.joined(separator: ", "))")
