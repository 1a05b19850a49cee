import Holdfast
import Testing

@testable import HoldfastUI

@Suite struct ConnectionStatusTests {
    private let now = ContinuousClock.now

    @Test(arguments: [(2001, 3), (2000, 2), (1001, 2), (1000, 1), (1, 1), (0, 1), (-500, 1)])
    func `the countdown rounds up to whole seconds and never shows zero`(milliseconds: Int, seconds: Int) {
        let state = WebSocketState.waiting(until: now + .milliseconds(milliseconds), cause: nil)
        #expect(ConnectionStatus(state, at: now) == .reconnecting(seconds: seconds))
    }

    @Test func `the text changes at each full second before the attempt, and not after the last`() throws {
        let state = WebSocketState.waiting(until: now + .milliseconds(2500), cause: nil)
        let first = try #require(ConnectionStatus.nextChange(of: state, after: now))
        #expect(first == now + .milliseconds(500))
        #expect(ConnectionStatus(state, at: first) == .reconnecting(seconds: 2))
        let second = try #require(ConnectionStatus.nextChange(of: state, after: first))
        #expect(second == now + .milliseconds(1500))
        #expect(ConnectionStatus.nextChange(of: state, after: second) == nil)
        #expect(ConnectionStatus.nextChange(of: .held, after: now) == nil)
    }

    @Test func `every state has a text`() {
        let failure = WebSocketError(TransportError(.invalidURL, "no"))
        #expect(ConnectionStatus(.disconnected(nil), at: now).label == "offline")
        #expect(ConnectionStatus(.connecting(attempt: 3), at: now).label == "connecting")
        #expect(ConnectionStatus(.connected(since: now), at: now).label == "connected")
        #expect(ConnectionStatus(.waiting(until: now + .seconds(3), cause: nil), at: now).label == "reconnecting in 3 s")
        #expect(ConnectionStatus(.held, at: now).label == "offline")
        #expect(ConnectionStatus(.closing, at: now).label == "closed")
        #expect(ConnectionStatus(.closed(nil), at: now).label == "closed")
        #expect(ConnectionStatus(.closed(failure), at: now).label == "connection failed")
    }
}
