import CodecCore
import Dispatch
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import ProtocolStage
import Testing
import WAMPCore

@Suite("Testaments", .timeLimit(.minutes(1))) struct TestamentTests {
    /// An actor that resumes when the test resumes its queue.
    private actor Late {
        final class Executor: SerialExecutor {
            let queue = DispatchQueue(label: "late")
            func enqueue(_ job: consuming ExecutorJob) {
                let job = UnownedJob(job)
                queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
            }
            func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
        }
        let executor = Executor()
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        func add(_ wamp: WAMPClient) async throws { try await wamp.addTestament(API.chat, "gone") }
    }

    @Test("an accepted testament is added again, even if the app has not resumed yet")
    func taken() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let late = Late()
        let adding = Task { try await late.add(stage.wamp) }
        let call = try await peer.call()
        late.executor.queue.suspend()
        try await peer.answer(call)
        // The router's next answer follows that one.
        async let sum = stage.wamp.call(API.add, 2, 3)
        try await peer.answer(peer.call(), [5])
        #expect(try await sum == 5)
        peer.transport.cut()
        let attempt = try #require(await stage.base.nextAttempt())
        await stage.wamp.states.until { $0.session == nil }
        let recorder = Diary()
        let line = recorder.line
        let queue = DispatchQueue(label: "test")
        stage.wamp.call("com.app.first", on: queue) { _ in line.yield("first") }
        let other = stage.answer(attempt)
        try await other.welcome()
        try await other.answer(other.call())
        #expect(await recorder.next() == "first")
        stage.wamp.call("com.app.second", on: queue) { _ in }
        let again = try await other.call()
        late.executor.queue.resume()
        #expect(again.procedure == "wamp.session.add_testament")
        #expect(again.arguments == call.arguments)
        try await adding.value
    }

    @Test("a refused testament is not added again")
    func refused() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let adding = Task { try await stage.wamp.addTestament(API.chat, "gone") }
        let call = try await peer.call()
        try await peer.send(.error(.call, request: call.request, details: [:], uri: WAMPURI.Error.notAuthorized, .none))
        #expect(await #expect(throws: WAMPError.self) { try await adding.value }?.uri == WAMPURI.Error.notAuthorized)
        peer.transport.cut()
        let other = try await stage.acceptAgain()
        async let sum = stage.wamp.call(API.add, 1, 2)
        try await other.answer(try await other.call(), [3])
        #expect(try await sum == 3)
    }

    @Test("a testament is added again after all requests that waited for the session")
    func crowded() async throws {
        let (stage, peer) = try await WAMPStage.narrow()
        async let adding: Void = stage.wamp.addTestament(API.chat, "gone")
        try await peer.answer(peer.call())
        try await adding
        peer.transport.cut()
        let attempt = try #require(await stage.base.nextAttempt())
        await stage.wamp.states.until { $0.session == nil }
        let count = 5000
        for number in 0..<count {
            stage.wamp.publish(API.chat, "\(number)") { _ in }
        }
        let other = stage.answer(attempt)
        try await other.welcome()
        var last: WAMPMessage?
        for _ in 0...count { last = try await other.next() }
        guard case .call(_, _, "wamp.session.add_testament", _)? = last else { throw WAMPPeer.Mismatch(message: last) }
    }
}
