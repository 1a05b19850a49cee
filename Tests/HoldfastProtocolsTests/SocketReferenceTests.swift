import Holdfast
import HoldfastProtocols
import HoldfastTesting
import MachineCore
import ProtocolCore
import ProtocolStage
import Testing
import WebSocketCore

@Suite(.timeLimit(.minutes(1))) struct SocketReferenceTests {
    private let stage = ProtocolStage()

    private func isOver(_ peer: MemoryTransport) async throws -> Bool {
        var messages = WebSocketConnection(peer).messages.makeAsyncIterator()
        return try await messages.next() == nil
    }

    private func disconnected() async {
        await stage.socket.states.until { if case .disconnected = $0 { true } else { false } }
    }

    @Test func `a connect that overtakes the disconnect before it is repeated`() async throws {
        let reference = SocketReference(stage.socket)
        let peer = try await stage.answer()
        await stage.socket.states.until(\.isConnected)
        for wanted in [false, true] { reference.wantsConnection = wanted }
        reference.connect()
        reference.end(.disconnect, nil)
        #expect(try await isOver(peer))
        _ = try await stage.answerAgain()
    }

    @Test func `a connect that comes after a later disconnect does nothing`() async throws {
        let reference = SocketReference(stage.socket)
        let peer = try await stage.answer()
        await stage.socket.states.until(\.isConnected)
        for wanted in [true, false] { reference.wantsConnection = wanted }
        reference.end(.disconnect, nil)
        reference.connect()
        #expect(try await isOver(peer))
        await disconnected()
        await ProtocolStage.giveWay()
        #expect(!stage.socket.isConnected && stage.socket.nextAttempt == nil)
    }

    @Test func `the rules may disconnect while the socket waits for its next attempt`() async throws {
        let client = ProtocolClient(EchoRules(), over: stage.socket, clock: stage.clock) { _ in EchoCoding() }
        try await stage.answer().cut()
        await stage.socket.states.until { if case .waiting = $0 { true } else { false } }
        client.perform(.leave)
        await disconnected()
    }
}
