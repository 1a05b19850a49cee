import MachineCore
import ProtocolCore
import Testing

@Suite struct MessageHeartbeatTests {
    private func after(_ seconds: Int) -> Moment { Moment(.seconds(seconds)) }

    @Test func `this side pings after a silence, and the peer is dead after another`() {
        var heartbeat = MessageHeartbeat(pingAfter: .seconds(20), patience: .seconds(5))
        #expect(heartbeat.deadline == nil && heartbeat.wake(at: after(99)) == nil)
        heartbeat.heard(at: .start)
        #expect(heartbeat.wake(at: after(19)) == nil)
        #expect(heartbeat.wake(at: after(20)) == .ping)
        #expect(heartbeat.wake(at: after(24)) == nil)
        #expect(heartbeat.wake(at: after(25)) == .dead)
        #expect(heartbeat.deadline == nil)
    }

    @Test func `whatever comes answers a ping`() {
        var heartbeat = MessageHeartbeat(pingAfter: .seconds(20), patience: .seconds(5))
        heartbeat.heard(at: .start)
        #expect(heartbeat.wake(at: after(20)) == .ping)
        heartbeat.heard(at: after(24))
        #expect(heartbeat.deadline == after(44) && heartbeat.wake(at: after(44)) == .ping)
    }

    @Test func `a peer that pings is dead when it does not`() {
        var heartbeat = MessageHeartbeat(pingAfter: nil, patience: .seconds(30))
        heartbeat.heard(at: .start)
        heartbeat.heard(at: after(25))
        #expect(heartbeat.wake(at: after(54)) == nil)
        #expect(heartbeat.wake(at: after(55)) == .dead)
    }

    @Test func `without a connection nothing is due`() {
        var heartbeat = MessageHeartbeat(pingAfter: .seconds(20), patience: .seconds(5))
        heartbeat.heard(at: .start)
        heartbeat.stop()
        #expect(heartbeat.deadline == nil && heartbeat.wake(at: after(99)) == nil)
    }
}
