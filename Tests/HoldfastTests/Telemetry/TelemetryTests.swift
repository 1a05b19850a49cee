import HoldfastTesting
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(2))) struct TelemetryTests {
    @Test func `a batch is one message with an array in the socket's codec`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let readings = stage.socket.numbers(count: 3)
        for number in 1...7 { readings.record(number) }
        #expect(try await peer.texts(2) == ["[1,2,3]", "[4,5,6]"])
        #expect(await telemetryEventually { readings.counts.sent == 6 })
        #expect(readings.counts.waiting == 1 && readings.counts.isWhole)
    }

    @Test func `a batch is sent when its oldest value reaches the maximum age by the socket's clock`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let readings = stage.socket.numbers { $0.batch.age = .seconds(7) }
        readings.record(1)
        readings.record(2)
        await stage.pause(of: .seconds(7))
        #expect(try await peer.batch() == [1, 2])
    }

    @Test func `a flush sends the waiting values and returns when they have left`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let readings = stage.socket.numbers()
        #expect(await readings.flush(), "no values wait")
        readings.record(1)
        #expect(await readings.flush() && readings.counts.sent == 1)
        #expect(try await peer.batch() == [1])
    }

    @Test func `a flush ends at its timeout and when it is cancelled, and loses nothing`() async throws {
        let stage = Stage()
        let readings = stage.socket.numbers()
        readings.record(1)
        let late = Task { await readings.flush(within: .seconds(5)) }
        await stage.pause(of: .seconds(5))
        #expect(await late.value == false)
        let cancelled = Task { await readings.flush() }
        cancelled.cancel()
        #expect(await cancelled.value == false)
        let peer = try await stage.connect()
        #expect(try await peer.batch() == [1])
    }

    @Test func `closing the socket sends the waiting values before the close handshake`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let readings = stage.socket.numbers(count: 2)
        for number in 1...5 { readings.record(number) }
        let closing = Task { await stage.socket.close() }
        #expect(try await peer.values(5) == [1, 2, 3, 4, 5])
        #expect(try await peer.message() == nil)
        await closing.value
        #expect(readings.counts.sent == 5 && readings.counts.isWhole)
        readings.record(6)
        #expect(readings.counts.dropped == 1, "no values are sent after the close")
    }

    @Test func `closing the socket waits for values only up to the flush timeout`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        peer.stall()
        let readings = stage.socket.numbers(count: 1) { $0.flushTimeout = .seconds(3) }
        for number in 1...4 { readings.record(number) }
        #expect(await telemetryEventually { readings.counts.leaving == 1 })
        let closing = Task { await stage.socket.close() }
        await stage.pause(of: .seconds(3))
        await stage.state { if case .closing = $0 { true } else { false } }
        peer.cut()
        await closing.value
        #expect(await telemetryEventually { readings.counts.leaving == 0 })
        #expect(readings.counts.uncertain == 1 && readings.counts.dropped == 3 && readings.counts.isWhole)
    }

    @Test func `without a connection closing waits for no values`() async {
        let stage = Stage()
        let readings = stage.socket.numbers()
        readings.record(1)
        await stage.socket.close()
        #expect(await telemetryEventually { readings.counts.dropped == 1 })
        #expect(await readings.flush(), "no values wait")
    }

    @Test func `waiting values are sent when the app goes to the background, before the connection is closed`() async throws {
        let stage = Stage { $0.background = .close(after: .zero) }
        let peer = try await stage.connect()
        let readings = stage.socket.numbers()
        for number in 1...3 { readings.record(number) }
        let leaving = Task { await stage.socket.notify(.background) }
        #expect(try await peer.batch() == [1, 2, 3])
        #expect(try await peer.message() == nil)
        #expect(peer.closeRecord?.code == .goingAway)
        await leaving.value
        await stage.state { if case .held = $0 { true } else { false } }
        readings.record(4)
        stage.clock.advance(by: .seconds(1))  // Attempts are at least a second apart.
        await stage.socket.notify(.foreground)
        let next = try await stage.connect()
        readings.record(5)
        let flushing = Task { await readings.flush() }
        #expect(try await next.batch() == [4, 5], "values are collected in the background")
        #expect(await flushing.value)
    }

    @Test func `an app that returns before its flush timeout stays connected`() async throws {
        let stage = Stage { $0.background = .close(after: .zero) }
        let peer = try await stage.connect()
        peer.stall()
        let readings = stage.socket.numbers { $0.flushTimeout = .seconds(3) }
        readings.record(1)
        let leaving = Task { await stage.socket.notify(.background) }
        while !Task.isCancelled, await stage.clock.nextSleep() != .seconds(3) {}
        await stage.socket.notify(.foreground)
        stage.clock.advance(by: .seconds(3))
        await leaving.value
        peer.resume()
        try await stage.socket.send(.text("still here"))
        #expect(try await peer.texts(2) == ["[1]", "still here"])
    }

    @Test func `other messages overtake all batches except the one being sent`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        peer.stall()
        let readings = stage.socket.numbers(count: 1)
        for number in 0..<100 { readings.record(number) }
        #expect(await telemetryEventually { readings.counts.leaving == 1 })
        try await stage.socket.send(.text("cancel"), lane: .urgent)
        try await stage.socket.send(.text("order"))
        peer.resume()
        // The next batch may be handed over before, between or after them.
        let texts = try await peer.texts(4)
        #expect(Set(texts.prefix(3)) == ["[0]", "cancel", "order"] && texts[3] == "[1]")
    }

    @Test func `without a connection values are collected, and the oldest are dropped`() async throws {
        let stage = Stage()
        let readings = stage.socket.numbers { $0.batch.capacity = 3 }
        for number in 1...10 { readings.record(number) }
        #expect(readings.counts.dropped == 7 && readings.counts.waiting == 3)
        let flushing = Task { await readings.flush() }
        let peer = try await stage.connect()
        #expect(try await peer.batch() == [8, 9, 10])
        #expect(await flushing.value)
    }

    @Test func `a value that cannot be encoded is reported and left out of its batch`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let failures = TelemetryNotes<WebSocketError.Code>()
        let levels = stage.socket.telemetry(of: Double.self) { telemetry in
            telemetry.batch.count = 4
            telemetry.onFailure = { failures.add($0.code) }
        }
        for level in [1, .nan, 2.5, .infinity] { levels.record(level) }
        #expect(try await peer.texts(1) == ["[1,2.5]"])
        #expect(failures.all == [.codec, .codec])
        for level in [Double.nan, .nan, .nan, .nan] { levels.record(level) }
        #expect(await telemetryEventually { levels.counts.unencodable == 6 })
        #expect(levels.counts.sent == 2 && levels.counts.isWhole)
    }

    @Test func `no message exceeds the batch limit, unless a single value does`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let lines = stage.socket.telemetry(of: String.self) { $0.batch = BatchPolicy(count: 20, bytes: 1000, age: .seconds(3600)) }
        let long = String(repeating: "x", count: 300)
        for number in 0..<19 { lines.record("\(number)" + long) }
        lines.record(long + long + long + long)
        let flushing = Task { await lines.flush() }
        var (count, isLonger) = (0, 0)
        while count < 20 {
            guard case .text(let text)? = try await peer.message() else { throw CancellationError() }
            let batch = try JSONCodec().decode([String].self, from: .text(text))
            if text.utf8.count > 1000 { isLonger += batch.count }
            count += batch.count
        }
        #expect(count == 20 && isLonger == 1)
        #expect(await flushing.value)
    }

    @Test func `closed telemetry sends the remaining values and accepts no more`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let readings = stage.socket.numbers()
        readings.record(1)
        #expect(await readings.close())
        readings.record(2)
        #expect(try await peer.batch() == [1])
        #expect(readings.counts.sent == 1 && readings.counts.dropped == 1)
        #expect(await readings.close(), "a second close succeeds")
    }

    @Test func `released telemetry sends the remaining values`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        do {
            let readings = stage.socket.numbers()
            readings.record(1)
        }
        #expect(try await peer.batch() == [1])
        #expect(await telemetryEventually { stage.socket.session.held.isEmpty }, "the session releases the telemetry")
    }

    @Test func `a socket and its telemetry are deallocated when both are released`() async throws {
        let server = MemoryServer()
        var references: [WeakReference] = []
        do {
            let socket = WebSocket(clock: ManualClock(), connect: server.connect)
            let readings = socket.numbers(count: 2)
            let cursors = socket.sender(of: Int.self, throttle: .seconds(1))
            for number in 1...5 {
                readings.record(number)
                cursors.send(number)
            }
            references = [WeakReference(object: socket), WeakReference(object: socket.session), WeakReference(object: readings)]
            _ = await server.nextAttempt()
        }
        #expect(await telemetryEventually { references.allSatisfy { $0.object == nil } })
    }

    @Test func `after a final close by the server waiting values are dropped and counted`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let readings = stage.socket.numbers()
        readings.record(1)
        _ = await peer.close(CloseFrame(.normal, reason: ""))
        #expect(await telemetryEventually { readings.counts.dropped == 1 })
        let late = stage.socket.numbers()
        late.record(2)
        #expect(late.counts.dropped == 1)
    }

    @Test(arguments: [SendPolicy(), .queue(2), .queue(1, .dropOldest), SendPolicy(whileDisconnected: .fail)])
    func `with many losses each value arrives once and in order, or is counted`(policy: SendPolicy) async throws {
        var configuration = WebSocketConfiguration()
        (configuration.limits.sendBuffer, configuration.limits.receiveBuffer) = (60, 60)
        let stage = Stage(sending: policy, configuration: configuration)
        let listening = Task { for await _ in stage.socket.events {} }
        let readings = stage.socket.numbers(count: 5)
        let time = Task {
            // The task passes the pauses between attempts, but not the timeouts of sends.
            while !Task.isCancelled {
                let sleep = await stage.clock.nextSleep()
                if sleep <= Stage.policy.backoff.cap { stage.clock.advance(by: sleep) }
            }
        }
        var (arrived, recorded) = ([Int](), 0)
        for round in 0..<12 {
            let peer = try await stage.accept()
            for _ in 0..<20 {
                readings.record(recorded)
                recorded += 1
            }
            for _ in 0..<(round % 4) { if let batch = try? await peer.batch() { arrived += batch } }
            if round.isMultiple(of: 3) { peer.stall() }
            peer.cut()
            while let batch = try? await peer.batch() { arrived += batch }
        }
        // If nothing is left to send, the close must wait until the socket is connected.
        let last = try await stage.connect()
        let rest = Task { () -> [Int] in
            var rest: [Int] = []
            while let batch = try await last.batch() { rest += batch }
            return rest
        }
        #expect(await readings.flush())
        await stage.socket.close()
        arrived += try await rest.value
        time.cancel()
        await listening.value
        let counts = readings.counts
        #expect(counts.isWhole && counts.recorded == recorded && counts.dropped == 0 && counts.waiting == 0 && counts.leaving == 0)
        #expect(arrived == Set(arrived).sorted(), "each value arrives once and in order")
        #expect(arrived.count >= counts.sent && arrived.count <= counts.sent + counts.uncertain)
        #expect(counts.sent + counts.uncertain == recorded)
    }
}
