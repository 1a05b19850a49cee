import MachineCore
import ProtocolCore
import Testing

@Suite struct MessageHeartbeatTests {
    private func after(_ seconds: Int) -> Moment { Moment(.seconds(seconds)) }

    @Test func `a ping is due after a silence, and the peer is dead after the next`() {
        var heartbeat = MessageHeartbeat(pingAfter: .seconds(20), patience: .seconds(5))
        #expect(heartbeat.deadline == nil && heartbeat.wake(at: after(99)) == nil)
        heartbeat.heard(at: .start)
        #expect(heartbeat.wake(at: after(19)) == nil)
        #expect(heartbeat.wake(at: after(20)) == .ping)
        #expect(heartbeat.wake(at: after(24)) == nil)
        #expect(heartbeat.wake(at: after(25)) == .dead)
        #expect(heartbeat.deadline == nil)
    }

    @Test func `any message answers a ping`() {
        var heartbeat = MessageHeartbeat(pingAfter: .seconds(20), patience: .seconds(5))
        heartbeat.heard(at: .start)
        #expect(heartbeat.wake(at: after(20)) == .ping)
        heartbeat.heard(at: after(24))
        #expect(heartbeat.deadline == after(44) && heartbeat.wake(at: after(44)) == .ping)
    }

    @Test func `a peer that must ping is dead when it stops`() {
        var heartbeat = MessageHeartbeat(pingAfter: nil, patience: .seconds(30))
        heartbeat.heard(at: .start)
        heartbeat.heard(at: after(25))
        #expect(heartbeat.wake(at: after(54)) == nil)
        #expect(heartbeat.wake(at: after(55)) == .dead)
    }

    @Test func `without a connection no deadline exists`() {
        var heartbeat = MessageHeartbeat(pingAfter: .seconds(20), patience: .seconds(5))
        heartbeat.heard(at: .start)
        heartbeat.stop()
        #expect(heartbeat.deadline == nil && heartbeat.wake(at: after(99)) == nil)
    }
}
