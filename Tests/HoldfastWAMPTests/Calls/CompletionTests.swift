import CodecCore
import Dispatch
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import Testing
import WAMPCore

@Suite("Completion handlers", .timeLimit(.minutes(1))) struct CompletionTests {
    let queue = DispatchQueue(label: "test")

    @Test("calls are sent in order, and their handlers run on the queue")
    func order() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let (results, notify) = AsyncStream.makeStream(of: Int?.self)
        for number in 0..<20 {
            stage.wamp.call(API.add, number, 1, on: queue) { [queue] result in
                dispatchPrecondition(condition: .onQueue(queue))
                notify.yield(try? result.get())
            }
        }
        for number in 0..<20 {
            let call = try await peer.call()
            #expect(try call.arguments.list.first?.int == number)
            try await peer.answer(call, [.integer(Int64(number + 1))])
        }
        var iterator = results.makeAsyncIterator()
        for number in 0..<20 { #expect(await iterator.next() == .some(number + 1)) }
    }

    @Test("a cancelled call runs its handler once")
    func cancelled() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let (results, notify) = AsyncStream.makeStream(of: WAMPError.Code?.self)
        let call = stage.wamp.call("com.app.slow", on: queue) { result in
            if case .failure(let error) = result { notify.yield(error.code) } else { notify.yield(nil) }
        }
        let request = try await peer.call().request
        call.cancel()
        call.cancel()
        #expect(try await peer.cancellation(of: request) == "killnowait")
        var iterator = results.makeAsyncIterator()
        #expect(await iterator.next() == .some(.cancelled))
    }

    @Test("publishing, subscribing and registering work without a task")
    func others() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let (news, notify) = AsyncStream.makeStream(of: String.self)
        stage.wamp.publish(API.chat, "hi", options: PublishOptions(isAcknowledged: true), on: queue) { result in
            notify.yield("published \((try? result.get()) ?? nil ?? 0)")
        }
        guard case .publish(let request, _, _, _)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        try await peer.send(.published(request: request, publication: 7))
        var iterator = news.makeAsyncIterator()
        #expect(await iterator.next() == "published 7")

        let subscription = stage.wamp.subscribe(API.chat, on: queue) { item in
            if case .event(let event) = item { notify.yield(event.content) }
        } completion: { result in
            notify.yield((try? result.get()).map { "\($0)" } ?? "failed")
        }
        try await peer.subscribe(as: 5)
        #expect(await iterator.next() == "subscribed")
        try await peer.event(5, 1, ["hello"])
        #expect(await iterator.next() == "hello")
        subscription.cancel()
        guard case .unsubscribe(let end, 5)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        // News from before the answer of the router would come first.
        notify.yield("answering")
        try await peer.send(.unsubscribed(request: end, details: [:]))
        #expect(await iterator.next() == "answering")
        #expect(await iterator.next() == "unsubscribed")

        stage.wamp.register(API.add, on: queue) { input, _, answer in
            answer(.success(input.0 + input.1))
            answer(.success(0))
        } completion: { result in
            notify.yield("offered \((try? result.get())?.uri ?? "nothing")")
        }
        try await peer.register(as: 3)
        #expect(await iterator.next() == "offered com.app.add")
        try await peer.invoke(3, 1, [1, 2])
        #expect(try await peer.yield(of: 1).list == [3])
    }
}
