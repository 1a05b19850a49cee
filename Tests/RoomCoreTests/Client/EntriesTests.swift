import MachineCore
import ProtocolCore
import RoomCore
import Testing

/// Which entries a client takes in a joined room, and what it does about the others.
@Suite struct ClientEntriesTests {
    private let abc = ClientBench.abc
    private let epoch = ClientBench.epoch
    private let stored = ClientBench.stored

    @Test func `a client drops entries that it has and takes the next ones`() {
        var bench = ClientBench.live()
        bench.receive(.entries(.of(9), .of(10), .of(11), .of(11), .of(12)))
        #expect(bench.commits.map(\.changes) == [[.append(abc, epoch: epoch, [.of(11), .of(12)])]])
    }

    @Test func `after a gap a client takes no more entries, and joins again when it has stored the ones it took`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11), .of(13)), .entries(.of(12)))
        #expect(bench.commits.map(\.changes) == [[.append(abc, epoch: epoch, [.of(11)])]])
        #expect(!bench.effects.contains(.send(.join(.abc(LogPosition(epoch: epoch, seq: 11))))))
        bench.write()
        #expect(bench.sent() == [.join(.abc(LogPosition(epoch: epoch, seq: 11)))])
    }

    @Test func `a client does not take entries of another epoch`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11), epoch: 0xE2))
        #expect(bench.takeEffects() == [.send(.join(.abc(stored.cursor)))])
    }

    @Test func `after a lag frame a client joins again when it has stored what it has`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11)), .lag(abc, head: 40))
        #expect(bench.effects.last == .news(.phase(abc, .catchingUp(head: 40))))
        bench.write()
        #expect(bench.sent() == [.join(.abc(LogPosition(epoch: epoch, seq: 11)))])
    }

    @Test func `a client with a slow store limits the entries in flight and asks the hub again for the others`() {
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
    func `a client rejects a state that does not match its join, and leaves the hub for a while after five in a minute`(state: HubFrame) {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        for _ in 0..<4 {
            _ = bench.takeEffects()
            bench.receive(state)
            #expect(bench.takeEffects() == [.send(.join(.abc(stored.cursor)))])
        }
        bench.receive(state)
        #expect(bench.takeEffects().last == .end(.rejected("the hub broke the protocol too often")))
    }
}
