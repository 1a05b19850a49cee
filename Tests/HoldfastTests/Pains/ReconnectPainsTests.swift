import Holdfast
import HoldfastTesting
import MachineCore
import SessionCore
import Testing

/// Reconnecting: problems that cost users of other libraries days.
@Suite(.timeLimit(.minutes(1))) struct ReconnectPainsTests {
    @Test func `pain 16: late errors of connections that were given up start no further attempts`() async throws {
        let stage = Stage()
        var (reader, gone) = (stage.eventReader(), [MemoryTransport]())
        for round in 1...8 {
            let peer = try await stage.accept()
            #expect(await reader.next() == .opened)
            for peer in gone { peer.cut() }
            try await peer.send(.text("\(round)"))
            #expect(await reader.next() == .message(.text("\(round)")))
            try await stage.socket.send(.text("\(round)"))
            #expect(try await peer.receive() == .message(.text("\(round)")))
            #expect(stage.attempts.total == round && stage.attempts.mostAtOnce == 1)
            // The connection is closed, and its peer does not answer.
            // It ends when the next connection exists, and does not delay that one.
            peer.stall()
            gone.append(peer)
            await stage.socket.notify(.background)
            await stage.pause(of: .seconds(3))
            await stage.state { if case .held = $0 { true } else { false } }
            await stage.socket.notify(.foreground)
        }
    }

    /// A bug of swift-graphql.
    @Test func `each wait of the backoff is twice the last one, up to the cap`() async throws {
        let stage = Stage()
        var waits: [Duration] = []
        for _ in 1...7 {
            try await stage.refuse()
            waits.append(await stage.pause())
        }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    }

    /// A bug of Phoenix and reconnecting-websocket.
    @Test(arguments: [true, false])
    func `fifty clients wait before the first retry, each for a different time`(wasOpen: Bool) async throws {
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
        // The seeds are random, but more than four equal waits in nanoseconds will practically never happen.
        #expect(waits.count > 45)
    }

    /// A bug of socket.io-client-swift.
    @Test(arguments: [SendPolicy.Overflow.dropOldest, .dropNewest, .refuse])
    func `each message of a queue has one outcome, and the right one`(overflow: SendPolicy.Overflow) {
        var queue = SendQueue(policy: SendPolicy(whileDisconnected: .queue, capacity: SendVolume(count: 3, bytes: 100), overflow: overflow))
        var (transmitted, refused): ([UInt64], [UInt64: [SendRefusal]]) = ([], [:])
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
            transmitted.append(id)
            next = handle(.taken(id))
        }
        // The third message is being sent when the connection is lost, and then the session ends.
        _ = handle(.lost)
        _ = handle(.close)
        let reason = overflow == .dropOldest ? SendRefusal.dropped : .overflow
        let (dropped, kept): ([UInt64], [UInt64]) = overflow == .dropOldest ? ([1, 2], [3, 4, 5]) : ([4, 5], [1, 2, 3])
        #expect(transmitted == Array(kept.prefix(2)))
        #expect(refused == [dropped[0]: [reason], dropped[1]: [reason], kept[2]: [.closed]])
    }
}
