import MachineCore
import ProtocolCore
import RoomCore
import Testing

/// Entries of a room that is joined: which are taken, and what is done about the others.
@Suite struct ClientEntriesTests {
    private let abc = ClientBench.abc
    private let epoch = ClientBench.epoch
    private let stored = ClientBench.stored

    @Test func `entries that the room has are dropped, and the next ones taken`() {
        var bench = ClientBench.live()
        bench.receive(.entries(.of(9), .of(10), .of(11), .of(11), .of(12)))
        #expect(bench.commits.map(\.changes) == [[.append(abc, epoch: epoch, [.of(11), .of(12)])]])
    }

    @Test func `after a gap nothing more is taken, and the room is joined again once what was taken is on disk`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11), .of(13)), .entries(.of(12)))
        #expect(bench.commits.map(\.changes) == [[.append(abc, epoch: epoch, [.of(11)])]])
        #expect(!bench.effects.contains(.send(.join(.abc(LogPosition(epoch: epoch, seq: 11))))))
        bench.write()
        #expect(bench.sent() == [.join(.abc(LogPosition(epoch: epoch, seq: 11)))])
    }

    @Test func `entries of another epoch are not taken`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11), epoch: 0xE2))
        #expect(bench.look() == [.send(.join(.abc(stored.cursor)))])
    }

    @Test func `a room that lags is joined again once what it has is on disk`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11)), .lag(abc, head: 40))
        #expect(bench.effects.last == .news(.phase(abc, .catchingUp(head: 40))))
        bench.write()
        #expect(bench.sent() == [.join(.abc(LogPosition(epoch: epoch, seq: 11)))])
    }

    @Test func `a store that is too slow takes no more than it may; the hub is asked again for the others`() {
        var policy = RoomsPolicy()
        policy.unwrittenEntries = 2
        var bench = ClientBench.live(policy: policy, stored: stored)
        bench.receive(.entries(.of(11)), .entries(.of(12)), .entries(.of(13)), .entries(.of(14)))
        #expect(bench.commits.count == 2)
        bench.write()
        #expect(bench.sent() == [.join(.abc(LogPosition(epoch: epoch, seq: 12)))])
    }

    @Test(arguments: [
        HubFrame.state(after: 11, [.of(12)]), .state(after: 10, [.of(11), .of(13)]), .state(after: 10, [.of(11)], epoch: 0xE2),
        .state(after: 10, more: true), .state(after: 10, epoch: 0),
        .state(after: 10, [.of(11)], head: 10), .state(after: -5), .state(after: 10, high: -1),
    ])
    func `a state that does not match the join is not taken; after five in a minute the hub is left for a while`(state: HubFrame) {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        for _ in 0..<4 {
            _ = bench.look()
            bench.receive(state)
            #expect(bench.look() == [.send(.join(.abc(stored.cursor)))])
        }
        bench.receive(state)
        #expect(bench.look().last == .end(.rejected("the hub broke the protocol too often")))
    }
}
