import MachineCore
import RoomCore
import Testing

@Suite struct TokenPaceTests {
    private func pause(_ pace: inout TokenPace, _ expires: Int64, _ left: Duration) -> Duration {
        pace.pause(until: expires, left: left, margin: .seconds(30))
    }

    @Test func `a token is replaced before its end, and a short one at half its lifetime`() {
        var pace = TokenPace()
        #expect(pause(&pace, 1, .seconds(100)) == .seconds(70))
        #expect(pause(&pace, 2, .seconds(40)) == .seconds(20))
    }

    @Test func `a provider that returns no newer token is asked less and less often until it does`() {
        var pace = TokenPace()
        let pauses = (0..<8).map { _ in pause(&pace, 9, .zero) }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        #expect(pause(&pace, 8, .zero) == .seconds(60))
        #expect(pause(&pace, 10, .zero) == .seconds(1))
    }
}
