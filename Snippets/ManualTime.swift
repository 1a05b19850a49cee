// How an app comes back, tested without a network and without waiting.
import HoldfastTesting

// snippet.test
let (server, clock) = (MemoryServer(), ManualClock())
let socket = WebSocket(clock: clock, connect: server.connect)
await server.nextAttempt()?.refuse(TransportError(.unreachable, "no network"))
clock.advance(by: await clock.nextSleep())
let peer = await server.nextAttempt()?.accept()
try await peer?.send(.text("hello"))
_ = await peer?.close(CloseFrame(.normal))
for await event in socket.events { print(event) }
// snippet.end
