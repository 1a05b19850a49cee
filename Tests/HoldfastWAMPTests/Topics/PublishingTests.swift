import CodecCore
import Dispatch
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import ProtocolStage
import Testing
import WAMPCore

@Suite("Publishing", .timeLimit(.minutes(1))) struct PublishingTests {
    @Test("publishing returns when the event was queued, or with acknowledgement when the router accepted it")
    func acknowledged() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        #expect(try await stage.wamp.publish(API.chat, "hi") == nil)
        guard case .publish(1, let plain, "com.app.chat", let arguments)? = try await peer.next() else {
            throw WAMPPeer.Mismatch(message: nil)
        }
        #expect(plain["acknowledge"] == nil)
        #expect(arguments == WAMPArguments(["hi"]))
        async let publication = stage.wamp.publish(API.chat, "there", options: PublishOptions(isAcknowledged: true))
        guard case .publish(2, let options, _, _)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(options["acknowledge"] == true)
        try await peer.send(.published(request: 2, publication: 99))
        #expect(try await publication == 99)
    }

    @Test("filters, disclosure and retention are sent in the form of the specification")
    func options() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let options = PublishOptions(
            excludesMe: false, excluded: .init(sessions: [1], authIDs: ["eve"]), eligible: .init(authRoles: ["admin"]), discloseMe: true,
            isRetained: true, other: ["x_key": 1])
        try await stage.wamp.publish("com.app.chat", [1], keywords: ["k": "v"], options: options)
        guard case .publish(_, let sent, _, let arguments)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(arguments == WAMPArguments([1], keywords: ["k": "v"]))
        #expect(sent["exclude_me"] == false)
        #expect(sent["exclude"] == [1])
        #expect(sent["exclude_authid"] == ["eve"])
        #expect(sent["eligible_authrole"] == ["admin"])
        #expect(sent["disclose_me"] == true)
        #expect(sent["retain"] == true)
        #expect(sent["x_key"] == 1)
    }

    @Test("publishing to a pattern is an error")
    func pattern() async throws {
        let (stage, _) = try await WAMPStage.joined()
        let error = await #expect(throws: WAMPError.self) { try await stage.wamp.publish(API.chat.matching("com.", .prefix), "hi") }
        #expect(error?.code == .invalidURI)
    }

    @Test("a missing acknowledgement ends with the loss of the connection")
    func lost() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let publication = Task { try await stage.wamp.publish(API.chat, "hi", options: PublishOptions(isAcknowledged: true)) }
        _ = try await peer.next()
        peer.transport.cut()
        let error = await #expect(throws: WAMPError.self) { _ = try await publication.value }
        #expect(error?.code == .connectionLost)
        #expect(error?.request == "PUBLISH com.app.chat")
    }

    @Test("the events of one task keep their order, even on a slow connection")
    func order() async throws {
        var configuration = WebSocketConfiguration()
        configuration.limits.sendBuffer = 64
        configuration.limits.receiveBuffer = 64
        let stage = WAMPStage(configuration: configuration)
        let peer = try await stage.accept()
        try await stage.wamp.joined()
        let publishing = Task {
            for number in 0..<2000 { try await stage.wamp.publish(Topic<Int>("com.app.numbers"), number) }
        }
        for number in 0..<2000 {
            let message = try await peer.next()
            guard case .publish(_, _, _, let arguments)? = message else { throw WAMPPeer.Mismatch(message: message) }
            #expect(try arguments.list == [.integer(Int64(number))])
        }
        try await publishing.value
    }

    @Test("a publisher waits while the outbound queue is full and resumes when its task is cancelled")
    func congested() async throws {
        var configuration = WebSocketConfiguration()
        configuration.limits.sendBuffer = 64
        configuration.limits.receiveBuffer = 64
        let stage = WAMPStage(configuration: configuration)
        let peer = try await stage.accept()
        try await stage.wamp.joined()
        let publishing = Task {
            var count = 0
            do {
                while true {
                    try await stage.wamp.publish(Topic<Int>("com.app.numbers"), count, options: PublishOptions(patience: .seconds(7)))
                    count += 1
                }
            } catch {
                #expect((error as? WAMPError)?.code == .cancelled)
            }
            return count
        }
        // The peer does not read, so the publisher stops when the queue is full.
        await stage.base.sleeper(of: .seconds(7))
        #expect(stage.wamp.waitingToSend >= 512)
        publishing.cancel()
        #expect(await publishing.value < 5000)
        withExtendedLifetime(peer) {}
    }

    @Test("a waiting publisher resumes when there is room, even if the queue never becomes empty")
    func room() async throws {
        let (stage, peer) = try await WAMPStage.narrow()
        let numbers = Topic<Int>("com.app.numbers")
        let queue = DispatchQueue(label: "test")
        // Completion handlers do not wait for room.
        for number in 0..<2000 { stage.wamp.publish(numbers, number, on: queue) { _ in } }
        let publishing = Task { try await stage.wamp.publish(numbers, 2000, options: PublishOptions(patience: .seconds(7))) }
        while await stage.clock.nextSleep() != .seconds(7) {}
        for _ in 0..<1600 { _ = try await peer.next() }
        #expect(try await publishing.value == nil)
        #expect(stage.wamp.waitingToSend > 0)
    }

    @Test("the client reads again when there is room, even if the app keeps the queue from becoming empty")
    func reading() async throws {
        let (stage, peer) = try await WAMPStage.narrow()
        async let subscribing = stage.wamp.subscribe(API.chat)
        try await peer.subscribe(as: 5)
        let events = try await subscribing
        var iterator = events.makeAsyncIterator()
        let queue = DispatchQueue(label: "test")
        while stage.wamp.waitingToSend < 4096 { stage.wamp.publish(Topic<Int>("com.app.numbers"), 1, on: queue) { _ in } }
        let router = Task {
            for publication in [WAMPID(1), 2] { try await peer.event(5, publication, ["hi"]) }
        }
        #expect(try await iterator.next()?.publication == 1)
        for _ in 0..<1000 { _ = try await peer.next() }
        #expect(try await iterator.next()?.publication == 2)
        #expect(stage.wamp.waitingToSend > 0)
        try await router.value
    }

    @Test("a cancelled publication says whether it was sent")
    func cancelled() async throws {
        let stage = WAMPStage()
        let early = Task { try await stage.wamp.publish(API.chat, "hi", options: PublishOptions(patience: .seconds(7))) }
        while await stage.clock.nextSleep() != .seconds(7) {}
        early.cancel()
        let first = await #expect(throws: WAMPError.self) { _ = try await early.value }
        #expect(first?.code == .cancelled)
        #expect(first?.wasSent == false)
        let peer = try await stage.accept()
        let late = Task { try await stage.wamp.publish(API.chat, "there", options: PublishOptions(isAcknowledged: true)) }
        guard case .publish(1, _, _, _)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        late.cancel()
        let second = await #expect(throws: WAMPError.self) { _ = try await late.value }
        #expect(second?.code == .cancelled)
        #expect(second?.wasSent == true)
    }
}
