import CodecCore
import Dispatch
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import Testing
import WAMPCore

@Suite("Completion handlers of the session", .timeLimit(.minutes(1))) struct SessionCompletionTests {
    let queue = DispatchQueue(label: "test")

    private func word<Output>(_ result: Result<Output, WAMPError>) -> String {
        switch result {
        case .success: "done"
        case .failure(let error): "\(error.code)"
        }
    }

    @Test("waiting for the session ends with the session or with a cancellation")
    func joined() async throws {
        let stage = WAMPStage()
        let recorder = Diary()
        let line = recorder.line
        let waiting = stage.wamp.joined(on: queue) { line.yield(word($0)) }
        waiting.cancel()
        #expect(await recorder.next() == "cancelled")
        stage.wamp.joined(on: queue) { [queue] result in
            dispatchPrecondition(condition: .onQueue(queue))
            line.yield((try? result.get().id) == 4711 ? "joined" : "not joined")
        }
        let peer = try await stage.accept()
        #expect(await recorder.next() == "joined")
        stage.wamp.joined(within: .zero, on: queue) { line.yield(word($0)) }
        #expect(await recorder.next() == "done")
        withExtendedLifetime(peer) {}
    }

    @Test("closing says goodbye at once, keeps the client until the end, and runs its handler")
    func close() async throws {
        let stage = WAMPStage()
        let peer = try await stage.accept()
        try await stage.wamp.joined()
        let recorder = Diary()
        let line = recorder.line
        stage.wamp.close(on: queue) { line.yield("closed") }
        guard case .goodbye? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        try await peer.send(.goodbye(details: [:], reason: WAMPURI.Close.goodbyeAndOut, .none))
        #expect(try await peer.next() == nil)
        #expect(await recorder.next() == "closed")
        stage.wamp.joined(on: queue) { line.yield(word($0)) }
        #expect(await recorder.next() == "closed")
    }

    @Test("testaments are added and flushed in the order of the requests")
    func testaments() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let recorder = Diary()
        let line = recorder.line
        stage.wamp.addTestament(API.chat, "gone", on: queue) { line.yield(word($0)) }
        stage.wamp.flushTestaments(on: queue) { line.yield(word($0)) }
        let adding = try await peer.call()
        #expect(adding.procedure == "wamp.session.add_testament")
        #expect(try adding.arguments.list == ["com.app.chat", ["gone"], [:]])
        let flushing = try await peer.call()
        #expect(flushing.procedure == "wamp.session.flush_testaments")
        #expect(try flushing.arguments.keywords["scope"] == "destroyed")
        try await peer.answer(adding)
        #expect(await recorder.next() == "done")
        try await peer.send(.error(.call, request: flushing.request, details: [:], uri: WAMPURI.Error.notAuthorized, .none))
        #expect(await recorder.next() == "refused")
        let waiting = stage.wamp.addTestament(API.chat, "gone", on: queue) { line.yield(word($0)) }
        let request = try await peer.call().request
        waiting.cancel()
        #expect(try await peer.cancellation(of: request) != nil)
        #expect(await recorder.next() == "cancelled")
        stage.wamp.addTestament(Topic<API.Bad>("com.app.bad"), API.Bad(), on: queue) { line.yield(word($0)) }
        #expect(await recorder.next() == "unencodable")
    }

    @Test("a publication that waits for its acknowledgement can be cancelled")
    func publication() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let recorder = Diary()
        let line = recorder.line
        let options = PublishOptions(isAcknowledged: true)
        let typed = stage.wamp.publish(API.chat, "hi", options: options, on: queue) { line.yield(word($0)) }
        let untyped = stage.wamp.publish("com.app.chat", ["hi"], options: options, on: queue) { line.yield(word($0)) }
        for cancellation in [typed, untyped] {
            _ = try await peer.next()
            cancellation.cancel()
            cancellation.cancel()
            #expect(await recorder.next() == "cancelled")
        }
    }
}
