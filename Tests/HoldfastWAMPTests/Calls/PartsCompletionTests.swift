import CodecCore
import Dispatch
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import Testing
import WAMPCore

@Suite("Completion handlers of progressive calls", .timeLimit(.minutes(1))) struct PartsCompletionTests {
    let queue = DispatchQueue(label: "test")
    static let count = Procedure<Int, Int>("com.app.count")

    /// A handler of parts and one of the end, which both run on the queue.
    private func handlers<Output: Sendable>(
        _ line: AsyncStream<String>.Continuation
    ) -> (handle: @Sendable (Output) -> Void, end: @Sendable (Result<Output, WAMPError>) -> Void) {
        let queue = queue
        return (
            { part in
                dispatchPrecondition(condition: .onQueue(queue))
                line.yield("part \(part)")
            },
            { result in
                dispatchPrecondition(condition: .onQueue(queue))
                switch result {
                case .success(let output): line.yield("result \(output)")
                case .failure(let error): line.yield("\(error.code)")
                }
            }
        )
    }

    @Test("progressive results are delivered in order and before the final one")
    func progressive() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let recorder = Diary()
        let line = recorder.line
        let (handle, end) = handlers(line) as (handle: @Sendable (Int) -> Void, end: @Sendable (Result<Int, WAMPError>) -> Void)
        stage.wamp.callProgressively(Self.count, 3, on: queue, handle: handle, completion: end)
        stage.wamp.callProgressively("com.app.none", on: queue) { _ in
        } completion: {
            line.yield((try? $0.get()) == nil ? "none" : "some")
        }
        let call = try await peer.call()
        #expect(call.options["receive_progress"] == true)
        let other = try await peer.call()
        for part in 1...2 { try await peer.answer(call, [.integer(Int64(part))], details: ["progress": true]) }
        try await peer.answer(call, [3])
        for expected in ["part 1", "part 2", "result 3"] { #expect(await recorder.next() == expected) }
        try await peer.send(.error(.call, request: other.request, details: [:], uri: "com.app.error.none", .none))
        #expect(await recorder.next() == "none")
    }

    @Test("a cancelled progressive call runs its handler once")
    func cancelled() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let recorder = Diary()
        let line = recorder.line
        let (handle, end) = handlers(line) as (handle: @Sendable (Int) -> Void, end: @Sendable (Result<Int, WAMPError>) -> Void)
        let cancellation = stage.wamp.callProgressively(Self.count, 3, on: queue, handle: handle, completion: end)
        let call = try await peer.call()
        try await peer.answer(call, [1], details: ["progress": true])
        #expect(await recorder.next() == "part 1")
        cancellation.cancel()
        cancellation.cancel()
        #expect(try await peer.cancellation(of: call.request) == "killnowait")
        #expect(await recorder.next() == "cancelled")
        stage.wamp.callProgressively(API.bad, API.Bad(), on: queue, handle: { _ in }) { _ in line.yield("bad") }
        #expect(await recorder.next() == "bad")
    }

    @Test("progressive input is sent in order without a task")
    func input() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let recorder = Diary()
        let line = recorder.line
        let (handle, end) =
            handlers(line) as (handle: @Sendable (WAMPArguments) -> Void, end: @Sendable (Result<WAMPArguments, WAMPError>) -> Void)
        let sum = stage.wamp.callInParts("com.app.sum", [1], on: queue, handle: handle, completion: end)
        sum.send([2], on: queue) { line.yield((try? $0.get()) == nil ? "not sent" : "sent") }
        sum.finish([3], on: queue) { line.yield((try? $0.get()) == nil ? "not finished" : "finished") }
        #expect(await recorder.next() == "sent")
        #expect(await recorder.next() == "finished")
        for number in 1...3 {
            let call = try await peer.call()
            #expect(call.request == 1)
            #expect(call.arguments == WAMPArguments([.integer(Int64(number))]))
            #expect((call.options["progress"] == true) == (number < 3))
            if number == 3 {
                try await peer.answer(call, [1], details: ["progress": true])
                try await peer.answer(call, [6])
            }
        }
        #expect(await recorder.next() == "part 1 arg")
        #expect(await recorder.next() == "result 1 arg")
    }

    @Test("a part is refused when too many others are waiting")
    func crowded() async throws {
        let (stage, peer) = try await WAMPStage.narrow()
        let sum = stage.wamp.callInParts("com.app.sum", [1], on: queue) { _ in }
        let (results, notify) = AsyncStream.makeStream(of: WAMPError.Code?.self)
        for number in 0..<5000 {
            sum.send([.integer(Int64(number))], on: queue) {
                if case .failure(let error) = $0 { notify.yield(error.code) } else { notify.yield(nil) }
            }
        }
        var codes: [WAMPError.Code?] = []
        var iterator = results.makeAsyncIterator()
        while codes.count < 5000, let code = await iterator.next() { codes.append(code) }
        #expect(codes.first == .some(nil))
        #expect(codes.last == .tooManyWaiting)
        withExtendedLifetime(peer) {}
    }
}
