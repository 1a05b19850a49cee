import CodecCore
import Dispatch
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import ProtocolStage
import Testing
import WAMPCore
import WebSocketCore
import WebSocketRuntime

@Suite("Losses", .timeLimit(.minutes(1))) struct LossTests {
    @Test("requests that had not left when the connection was lost are reported as not sent")
    func unsent() async throws {
        let (stage, peer) = try await WAMPStage.narrow()
        let first = Task { try await stage.wamp.call(API.add, 1, 2) }
        _ = try await peer.call()
        let queue = DispatchQueue(label: "test")
        for number in 0..<100 { stage.wamp.publish(Topic<Int>("com.app.numbers"), number, on: queue) { _ in } }
        // The peer does not read, so later messages stay in the outbound queue.
        let publishing = Task {
            try await stage.wamp.publish(API.chat, "hi", options: PublishOptions(isAcknowledged: true, patience: .seconds(7)))
        }
        while await stage.clock.nextSleep() != .seconds(7) {}
        let second = Task { try await stage.wamp.call(API.add, 3, 4, options: CallOptions(timeout: .seconds(5))) }
        while await stage.clock.nextSleep() != .seconds(5) {}
        peer.transport.cut()
        let sent = await #expect(throws: WAMPError.self) { try await first.value }
        #expect(sent?.code == .connectionLost)
        #expect(sent?.wasSent == true)
        for error in [
            await #expect(throws: WAMPError.self) { try await second.value },
            await #expect(throws: WAMPError.self) { _ = try await publishing.value },
        ] {
            #expect(error?.code == .connectionLost)
            #expect(error?.wasSent == false)
            #expect(error?.isRetryable == true)
        }
    }

    @Test("a fatal close code of the router is the error of the client and of each call")
    func closed() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let calling = Task { try await stage.wamp.call(API.add, 1, 2) }
        _ = try await peer.call()
        _ = await peer.transport.close(CloseFrame(.protocolError, reason: "why"))
        let lost = await #expect(throws: WAMPError.self) { try await calling.value }
        #expect(lost?.code == .connectionLost)
        let ending = await #expect(throws: WAMPError.self) {
            while !Task.isCancelled { try await stage.wamp.joined() }
        }
        #expect(ending?.code == .connection)
        guard case .closed(let final?) = stage.wamp.state else { throw WAMPPeer.Mismatch(message: nil) }
        for error in [lost, ending, final] {
            #expect((error?.underlying as? WebSocketError)?.closeRecord?.received?.code == .protocolError)
            #expect(error?.description.contains("1002") == true)
            #expect(error?.description.contains(": why") == true)
        }
    }

    @Test("each call fails with the close reason, also when the client reconnects")
    func goingAway() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let calling = Task { try await stage.wamp.call(API.add, 1, 2) }
        _ = try await peer.call()
        _ = await peer.transport.close(CloseFrame(.serviceRestart, reason: "back soon"))
        let lost = await #expect(throws: WAMPError.self) { try await calling.value }
        #expect((lost?.underlying as? WebSocketError)?.closeRecord?.received?.code == .serviceRestart)
        #expect(lost?.description.contains(": back soon") == true)
    }

    @Test("the client reconnects after a message was too big, because nothing is sent twice")
    func tooLong() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        _ = await peer.transport.close(CloseFrame(.messageTooBig, reason: "too long"))
        let other = try await stage.acceptAgain()
        try await stage.wamp.joined()
        async let sum = stage.wamp.call(API.add, 1, 2)
        try await other.answer(other.call(), [3])
        #expect(try await sum == 3)
    }

    @Test("a released client leaves its session, though the app keeps the socket")
    func released() async throws {
        let stage = ProtocolStage { WAMPOptions.prepare(&$0) }
        var wamp: WAMPClient? = WAMPClient(over: stage.socket, realm: "realm1", clock: stage.clock)
        let peer = WAMPPeer(transport: try await stage.answer(WAMPSerialization.cbor.subprotocol), serialization: .cbor)
        try await peer.welcome()
        try await wamp?.joined()
        wamp = nil
        while try await peer.next() != nil {}
        #expect(peer.transport.closeRecord?.received?.code == .normal)
        withExtendedLifetime(stage) {}
    }

    @Test("an unlimited patience does not overflow the clock")
    func patience() async throws {
        let stage = WAMPStage()
        let joining = Task { try await stage.wamp.joined(within: .seconds(Int64.max)) }
        while await stage.clock.nextSleep() != .seconds(1 << 32) {}
        _ = try await stage.accept()
        #expect(try await joining.value.id == 4711)
    }
}
