import CodecCore
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import ProtocolStage
import Logging
import WebSocketRuntime
import Testing
import WAMPCore

@Suite("Procedures", .timeLimit(.minutes(1))) struct ProcedureTests {
    struct Unknown: Error { let secret = "hush" }

    @Test("a handler gets its input and the caller, and its output is the result", arguments: WAMPSerialization.allCases)
    func answered(_ serialization: WAMPSerialization) async throws {
        let (stage, peer) = try await WAMPStage.joined(serialization)
        async let registering = stage.wamp.register(API.add, options: RegisterOptions(sharing: .roundRobin)) { input, invocation in
            #expect(invocation.caller == 12)
            #expect(invocation.callerAuthID == "bob")
            #expect(invocation.uri == "com.app.add")
            return input.0 + input.1
        }
        let registered = try await peer.register(as: 3)
        #expect(registered.procedure == "com.app.add")
        #expect(registered.options["invoke"] == "roundrobin")
        let registration = try await registering
        #expect(registration.isStanding)
        // Invocation ids may be arbitrary.
        for (request, value) in [(WAMPID(41), Int64(1)), (7, 2)] {
            try await peer.invoke(3, request, [.integer(value), 10], details: ["caller": 12, "caller_authid": "bob"])
            #expect(try await peer.yield(of: request).list == [.integer(value + 10)])
        }
        registration.unregister()
        let message = try await peer.next()
        guard case .unregister(_, registration: 3)? = message else { throw WAMPPeer.Mismatch(message: message) }
        #expect(await registration.ended() == nil)
    }

    @Test("a handler's own error is sent as it is, any other error without its description")
    func failing() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let registering = stage.wamp.register(Procedure<Int, Int>("com.app.fail")) { input, _ in
            switch input {
            case 1: throw WAMPFailure("com.app.error.sold_out", ["none"], keywords: ["left": 0])
            case 2: throw Unknown()
            default: throw CancellationError()
            }
        }
        try await peer.register(as: 3)
        _ = try await registering
        try await peer.invoke(3, 1, [1])
        let own = try await peer.failure(of: 1)
        #expect(own.uri == "com.app.error.sold_out")
        #expect(own.list == ["none"])
        #expect(own.keywords == ["left": 0])
        try await peer.invoke(3, 2, [2])
        let other = try await peer.failure(of: 2)
        #expect(other.uri == WAMPURI.Error.runtimeError)
        #expect(!"\(other)".contains("hush"))
        try await peer.invoke(3, 3, [3])
        #expect(try await peer.failure(of: 3).uri == WAMPURI.Error.canceled)
        try await peer.invoke(3, 4, ["no number"])
        #expect(try await peer.failure(of: 4).uri == WAMPURI.Error.invalidArgument)
    }

    @Test("a handler may call other procedures, also its own")
    func nested() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let wamp = stage.wamp
        async let registering = wamp.register(Procedure<Int, Int>("com.app.factorial")) { [weak wamp] number, _ in
            guard number > 1, let wamp else { return 1 }
            return number * (try await wamp.call(Procedure<Int, Int>("com.app.factorial"), number - 1))
        }
        try await peer.register(as: 3)
        _ = try await registering
        try await peer.invoke(3, 1, [3])
        let second = try await peer.call()
        try await peer.invoke(3, 2, second.arguments.list)
        let first = try await peer.call()
        try await peer.invoke(3, 3, first.arguments.list)
        #expect(try await peer.yield(of: 3).list == [1])
        try await peer.answer(first, [1])
        #expect(try await peer.yield(of: 2).list == [2])
        try await peer.answer(second, [2])
        #expect(try await peer.yield(of: 1).list == [6])
    }

    @Test("INTERRUPT cancels the task of its handler and no other")
    func interrupted() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let registering = stage.wamp.register(Procedure<Int, Int>("com.app.wait")) { number, _ in
            if number == 2 { return 2 }
            while true { try await ContinuousClock().sleep(for: .seconds(3600)) }
        }
        try await peer.register(as: 3)
        _ = try await registering
        try await peer.invoke(3, 1, [1])
        try await peer.invoke(3, 2, [2])
        #expect(try await peer.yield(of: 2).list == [2])
        try await peer.send(.interrupt(request: 1, options: ["mode": "kill"]))
        #expect(try await peer.failure(of: 1).uri == WAMPURI.Error.canceled)
    }

    @Test("a handler sends progressive results only to a caller that wants them")
    func progress() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let registering = stage.wamp.register(Procedure<Int, Int>("com.app.count")) { number, invocation in
            for part in 1..<number { try await invocation.progress(part, "of \(number)") }
            return number
        }
        try await peer.register(as: 3)
        _ = try await registering
        try await peer.invoke(3, 1, [3], details: ["receive_progress": true])
        for part in 1...2 {
            let yield = try await peer.yield(of: 1)
            #expect(yield.list == [.integer(Int64(part)), "of 3"])
            #expect(yield.isPart)
        }
        #expect(try await peer.yield(of: 1) == ([3], false))
        try await peer.invoke(3, 2, [3])
        #expect(try await peer.yield(of: 2) == ([3], false))
    }

    @Test("progressive input goes to the running handler")
    func inParts() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let registering = stage.wamp.register("com.app.sum") { arguments, invocation in
            var sum = try arguments.list.first?.int ?? 0
            for await part in invocation.parts { sum += (try? part.list.first?.int) ?? 0 }
            return WAMPArguments([.integer(Int64(sum))])
        }
        try await peer.register(as: 3)
        _ = try await registering
        try await peer.invoke(3, 1, [1], details: ["progress": true])
        try await peer.invoke(3, 1, [2], details: ["progress": true])
        try await peer.invoke(3, 1, [3])
        #expect(try await peer.yield(of: 1).list == [6])
    }

    @Test("after a reconnect a procedure is registered again with all options and retried while the old registration remains")
    func reconnect() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let registering = stage.wamp.register(API.ping, options: RegisterOptions(sharing: .last, other: ["x_key": 1])) { _, _ in }
        try await peer.register(as: 3)
        let registration = try await registering
        peer.transport.cut()
        let other = try await stage.acceptAgain()
        #expect(!registration.isStanding)
        guard case .register(let request, let options, _)? = try await other.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(options["invoke"] == "last")
        #expect(options["x_key"] == 1)
        try await other.send(.error(.register, request: request, details: [:], uri: WAMPURI.Error.procedureAlreadyExists, .none))
        await stage.base.pass(.milliseconds(1) ... .milliseconds(500))
        try await other.register(as: 4)
        try await other.invoke(4, 1)
        #expect(try await other.yield(of: 1).list == [])
        #expect(registration.isStanding)
    }

    @Test("a handler with a lost connection is cancelled, and its answer is dropped")
    func lost() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let (ended, end) = AsyncStream.makeStream(of: Bool.self)
        async let registering = stage.wamp.register(API.ping) { _, _ in
            try? await ContinuousClock().sleep(for: .seconds(3600))
            end.yield(Task.isCancelled)
        }
        try await peer.register(as: 3)
        _ = try await registering
        try await peer.invoke(3, 1)
        let pong = Task { try await stage.wamp.call("com.app.other") }
        _ = try await peer.call()
        peer.transport.cut()
        var iterator = ended.makeAsyncIterator()
        #expect(await iterator.next() == true)
        await #expect(throws: WAMPError.self) { _ = try await pong.value }
    }

    @Test("a finished registration answers its running invocations before it returns")
    func finished() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        async let registering = stage.wamp.register(API.ping) { _, _ in
            var iterator = gate.makeAsyncIterator()
            await iterator.next()
        }
        try await peer.register(as: 3)
        let registration = try await registering
        try await peer.invoke(3, 1)
        // The invocation has arrived before this answer.
        async let pong = stage.wamp.call("com.app.other")
        try await peer.answer(peer.call())
        _ = try await pong
        async let finishing: Void = registration.finish()
        guard case .unregister? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        open.yield()
        #expect(try await peer.yield(of: 1).list == [])
        await finishing
    }

    @Test("a refused registration throws the URI of the router")
    func refused() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let registering = Task { try await stage.wamp.register(API.ping) { _, _ in } }
        guard case .register(let request, _, _)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        try await peer.send(.error(.register, request: request, details: [:], uri: WAMPURI.Error.procedureAlreadyExists, .none))
        let error = await #expect(throws: WAMPError.self) { try await registering.value }
        #expect(error?.uri == WAMPURI.Error.procedureAlreadyExists)
        #expect(error?.request == "REGISTER com.app.ping")
    }

    @Test("complete input has no further parts")
    func whole() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let registering = stage.wamp.register("com.app.count") { _, invocation in
            var count = 0
            for await _ in invocation.parts { count += 1 }
            return WAMPArguments([.integer(Int64(count))])
        }
        try await peer.register(as: 3)
        _ = try await registering
        try await peer.invoke(3, 1, [7])
        #expect(try await peer.yield(of: 1) == ([0], false))
    }

    @Test("a handler with too many unread input parts is cancelled, and the caller gets an error")
    func overrun() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        async let registering = stage.wamp.register("com.app.count") { _, invocation in
            var (iterator, count) = (gate.makeAsyncIterator(), 0)
            await iterator.next()
            for await _ in invocation.parts { count += 1 }
            return WAMPArguments([.integer(Int64(count))])
        }
        try await peer.register(as: 3)
        _ = try await registering
        for part in 0...4097 { try await peer.invoke(3, 1, [.integer(Int64(part))], details: ["progress": true]) }
        #expect(try await peer.failure(of: 1).uri == WAMPURI.Error.unavailable)
        async let pong = stage.wamp.call("com.app.other")
        try await peer.answer(peer.call())
        _ = try await pong
        open.finish()
    }

    @Test("finishing returns after a loss, even if a handler ignores its cancellation")
    func finishedByLoss() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        async let registering = stage.wamp.register(API.ping) { _, _ in
            await Task { for await _ in gate {} }.value
        }
        try await peer.register(as: 3)
        let registration = try await registering
        try await peer.invoke(3, 1)
        // The invocation has arrived before this answer.
        async let pong = stage.wamp.call("com.app.other")
        try await peer.answer(peer.call())
        _ = try await pong
        async let finishing: Void = registration.finish()
        guard case .unregister? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        peer.transport.cut()
        await finishing
        open.finish()
    }

    @Test("a registration that is refused after a reconnect ends, and the log has the reason")
    func refusedLater() async throws {
        let (log, lines) = LineLog.make()
        var options = WAMPOptions()
        options.logger = log
        let (stage, peer) = try await WAMPStage.joined(options: options)
        async let registering = stage.wamp.register(API.ping) { _, _ in }
        try await peer.register(as: 3)
        let registration = try await registering
        peer.transport.cut()
        let other = try await stage.acceptAgain()
        guard case .register(let request, _, _)? = try await other.next() else { throw WAMPPeer.Mismatch(message: nil) }
        try await other.send(.error(.register, request: request, details: [:], uri: WAMPURI.Error.notAuthorized, .none))
        #expect(await registration.ended()?.uri == WAMPURI.Error.notAuthorized)
        let line = "REGISTER com.app.ping was refused with \(WAMPURI.Error.notAuthorized)"
        await lines.wait(for: line)
    }
}
