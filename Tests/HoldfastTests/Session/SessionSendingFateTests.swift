import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

/// Every send ends in exactly one of three ways.
@Suite(.timeLimit(.minutes(2))) struct SessionSendingFateTests {
    @Test func `a message that the connection sent is written`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        for number in 0..<100 {
            let receipt = try await stage.socket.send(tracked: .text("\(number)"))
            #expect(await receipt.outcome() == .written)
        }
        #expect(try await peer.texts(100) == (0..<100).map(String.init))
    }

    @Test func `a message that waited for its connection is written, and its outcome stays after a loss`() async throws {
        let stage = Stage(sending: .queue(10))
        let receipt = try await stage.socket.send(tracked: .text("waits"))
        let peer = try await stage.connect()
        #expect(await receipt.outcome() == .written)
        peer.cut()
        #expect(await receipt.outcome() == .written)
    }

    @Test func `a message that was accepted but not sent before a loss is unknown`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        peer.stall()
        let receipt = try await stage.socket.send(tracked: .text("on its way"))
        let outcome = Task { await receipt.outcome() }
        peer.cut()
        #expect(await outcome.value == .unknown)
        #expect(await receipt.outcome() == .unknown)
    }

    @Test func `a cancelled wait for an outcome has no side effect`() async throws {
        let stage = Stage(sending: .queue(10))
        let receipt = try await stage.socket.send(tracked: .text("waits"))
        let waiting = Task { await receipt.outcome() }
        waiting.cancel()
        #expect(await waiting.value == .unknown)
        let peer = try await stage.connect()
        #expect(try await peer.texts(1) == ["waits"])
        #expect(await receipt.outcome() == .written)
    }

    @Test func `a message sent before a close handshake is written, even if its outcome was not awaited`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let receipt = try await stage.socket.send(tracked: .text("last words"))
        await stage.socket.close()
        #expect(try await peer.texts(1) == ["last words"])
        #expect(await receipt.outcome() == .written)
    }

    @Test func `after an outcome was awaited once, later messages are confirmed without a wait`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        #expect(try await stage.socket.send(tracked: .text("1")).outcome() == .written)
        let second = try await stage.socket.send(tracked: .text("2"))
        #expect(try await peer.texts(2) == ["1", "2"])
        peer.cut()
        guard case .failure = await peer.ended() else { throw CancellationError() }
        #expect(await second.outcome() == .written)
    }

    @Test func `with many losses every send ends, and every written message arrived`() async throws {
        var configuration = WebSocketConfiguration()
        (configuration.limits.sendBuffer, configuration.limits.receiveBuffer) = (500, 500)
        let stage = Stage(sending: .queue(50), configuration: configuration)
        // Reconnecting stops while no consumer reads the events.
        let listening = Task { for await _ in stage.socket.events {} }
        let isEnough = LockedValue(false)
        let receiving = Task {
            var arrived: Set<String> = []
            for round in 1...20 {
                let peer = try await stage.accept()
                arrived.formUnion(try await peer.texts(20))
                if round.isMultiple(of: 3) { peer.stall() }
                peer.cut()
                // These messages arrived before the cut.
                while case .message(.text(let text))? = try? await peer.receive() { arrived.insert(text) }
                await stage.pause()
            }
            isEnough.withLockedValue { $0 = true }
            let last = try await stage.accept()
            while case .text(let text)? = try await last.message() { arrived.insert(text) }
            return arrived
        }
        let (sent, outcomes) = await withTaskGroup(of: (Int, SendOutcome).self) { group in
            var sent = 0
            while !isEnough.withLockedValue(\.self), !Task.isCancelled {
                await stage.waiting { $0 < 40 }
                guard let receipt = try? await stage.socket.send(tracked: .text("\(sent)")) else { break }
                group.addTask { [sent] in (sent, await receipt.outcome()) }
                sent += 1
            }
            await stage.waiting(0)
            await stage.socket.close()
            return (sent, await group.reduce(into: [:]) { $0[$1.0] = $1.1 })
        }
        await listening.value
        let arrived = try await receiving.value
        #expect(outcomes.count == sent && sent >= 400)
        for (number, outcome) in outcomes where outcome == .written { #expect(arrived.contains("\(number)"), "\(number)") }
        #expect(outcomes.values.contains(.written))
    }
}
