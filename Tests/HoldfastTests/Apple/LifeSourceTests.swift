import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct LifeSourceTests {
    private struct ManualLifeSource: LifeSource {
        let stream: AsyncStream<AppLife.Input>
        let notify: AsyncStream<AppLife.Input>.Continuation

        init() { (stream, notify) = AsyncStream.makeStream() }

        func updates() -> AsyncStream<AppLife.Input> { stream }
    }

    @Test func `a life source replaces the system's notifications of background and foreground`() async throws {
        let source = ManualLifeSource()
        let stage = Stage { $0.lifeSource = source }
        let peer = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        source.notify.yield(.background)
        await stage.pause(of: .seconds(3))
        _ = await peer.ended()
        #expect(peer.closeRecord?.received?.code == .goingAway)
        await stage.state { if case .held = $0 { true } else { false } }
        source.notify.yield(.foreground)
        let second = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        #expect(second.closeRecord == nil)
    }

    @Test func `a source is released with the socket`() async throws {
        let source = ManualLifeSource()
        let (released, release) = AsyncStream.makeStream(of: Never.self)
        source.notify.onTermination = { _ in release.finish() }
        let stage = Stage { $0.lifeSource = source }
        try await stage.refuse()
        await stage.socket.close()
        for await _ in released {}
    }
}
