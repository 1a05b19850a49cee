// How an app gives up, tested without a network and without waiting.
import Holdfast
import HoldfastTesting

// snippet.test
let clock = ManualClock()
let socket = WebSocket(reconnect: ReconnectPolicy(maximumAttempts: 3), seed: 7, clock: clock) { () throws(WebSocketError) in
    throw WebSocketError(TransportError(.unreachable, "no network"))
}
// Two waits lie between three attempts; time jumps to the end of each.
for _ in 1...2 { clock.advance(by: await clock.nextSleep()) }
for await event in socket.events { print(event) }
// snippet.end
