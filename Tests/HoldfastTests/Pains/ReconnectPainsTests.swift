import Holdfast
import HoldfastTesting
import MachineCore
import SessionCore
import Testing

/// Connecting again: what users of other libraries lost days to.
@Suite(.timeLimit(.minutes(1))) struct ReconnectPainsTests {
    @Test func `pain 16: late errors of connections that were given up start nothing, then 4, 8…`() async throws {
        let stage = Stage()
        var (story, gone) = (stage.story(), [MemoryTransport]())
        for round in 1...8 {
            let peer = try await stage.accept()
            #expect(await story.next() == .opened)
            for peer in gone { peer.cut() }
            try await peer.send(.text("\(round)"))
            #expect(await story.next() == .message(.text("\(round)")))
            try await stage.socket.send(.text("\(round)"))
            #expect(try await peer.receive() == .message(.text("\(round)")))
            #expect(stage.attempts.total == round && stage.attempts.mostAtOnce == 1)
            // It is closed, and its peer does not answer: its end comes when the next one is there, and keeps nothing of that one back.
            peer.stall()
            gone.append(peer)
            await stage.socket.notify(.background)
            await stage.pause(of: .seconds(3))
            await stage.state { if case .held = $0 { true } else { false } }
            await stage.socket.notify(.foreground)
        }
    }

    /// swift-graphql.
    @Test func `XOR for power in a backoff: each wait is twice the last, up to its cap`() async throws {
        let stage = Stage()
        var waits: [Duration] = []
        for _ in 1...7 {
            try await stage.refuse()
            waits.append(await stage.pause())
        }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    }

    /// Phoenix, reconnecting-websocket.
    @Test(arguments: [true, false])
    func `first retry after 0–10 ms without jitter: a crowd waits, and each for another time`(wasOpen: Bool) async throws {
        var waits: Set<Duration> = []
        for _ in 1...50 {
            let (server, clock) = (MemoryServer(), ManualClock())
            var events = WebSocket(clock: clock, connect: server.connect).events.makeAsyncIterator()
            let attempt = try #require(await server.nextAttempt())
            if wasOpen {
                let peer = attempt.accept()
                guard case .opened? = await events.nextButStates() else { throw CancellationError() }
                clock.advance(by: .seconds(60))
                peer.cut()
            } else {
                attempt.refuse(.down)
            }
            guard case .reconnecting(_, let wait, _)? = await events.nextButStates() else { throw CancellationError() }
            #expect(wait >= .milliseconds(100))
            waits.insert(wait)
        }
        // The seeds are random: that so many waits of fifty are alike to the nanosecond will never happen.
        #expect(waits.count > 45)
    }

    /// socket.io-client-swift.
    @Test(arguments: [SendPolicy.Overflow.dropOldest, .dropNewest, .refuse])
    func `queue dropped but completion called: each message ends once, and as what became of it`(overflow: SendPolicy.Overflow) {
        var queue = SendQueue(policy: SendPolicy(whileDisconnected: .queue, capacity: SendVolume(count: 3, bytes: 100), overflow: overflow))
        var (taken, refused): ([UInt64], [UInt64: [SendRefusal]]) = ([], [:])
        func handle(_ input: SendQueue.Input) -> UInt64? {
            var (effects, next): ([SendQueue.Effect], UInt64?) = ([], nil)
            queue.handle(input, at: .start, into: &effects)
            for effect in effects {
                switch effect {
                case .transmit(let id): next = id
                case .recall: break
                case .refused(let id, let reason): refused[id, default: []].append(reason)
                }
            }
            return next
        }
        for id in 1...5 as ClosedRange<UInt64> { _ = handle(.submit(id: id, lane: .normal, byteCount: 10, patience: nil)) }
        var next = handle(.opened)
        for _ in 1...2 {
            guard let id = next else { break }
            taken.append(id)
            next = handle(.taken(id))
        }
        // The third is on its way when the link breaks, and then the session ends.
        _ = handle(.lost)
        _ = handle(.close)
        let reason = overflow == .dropOldest ? SendRefusal.dropped : .overflow
        let (gaveWay, stayed): ([UInt64], [UInt64]) = overflow == .dropOldest ? ([1, 2], [3, 4, 5]) : ([4, 5], [1, 2, 3])
        #expect(taken == Array(stayed.prefix(2)))
        #expect(refused == [gaveWay[0]: [reason], gaveWay[1]: [reason], stayed[2]: [.closed]])
    }
}
