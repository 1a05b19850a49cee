import MachineCore
import RoomCore
import Testing

/// Publications and rooms after a failure of the log.
@Suite struct HubLogFailureTests {
    private var stage = HubStage()

    @Test mutating func `publications that may not be on disk are dropped, and accepted again when the room is open again`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.log.fates = [.refused]
        stage.holdsLog = true
        stage.publish(ann, 1...2)
        stage.publish(bob, 1...1)
        stage.answer()
        let (first, second) = (stage.heard(ann), stage.heard(bob))
        #expect(first.refusals.map(\.cseq) == [1] && first.codes == [.storage] && second.codes == [.storage] && first.acks.isEmpty)
        #expect(stage.hub.figures.closedRooms == 1 && stage.hub.figures.failedAppends == 1)
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).codes == [.storage] && stage.orders.isEmpty)
        stage.holdsLog = false
        stage.pass(.seconds(1))
        #expect(stage.hub.figures.closedRooms == 0)
        stage.publish(ann, 1...2)
        #expect(stage.heard(ann).acks.map(\.seq) == [1, 2])
        #expect(stage.heard(bob).entries == [1, 2])
    }

    @Test mutating func `a publication that is on disk after all is found there`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.log.fates = [.uncertain]
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).codes == [.storage] && stage.heard(bob).isEmpty)
        stage.pass(.seconds(1))
        // The log is longer than the hub reported, so all members join again.
        #expect(stage.heard(ann) == [.lag(.lobby, head: 1)] && stage.heard(bob) == [.lag(.lobby, head: 1)])
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).codes == [.early])
        for id in [ann, bob] {
            stage.handle(id, .join(.init(room: .lobby, cursor: LogPosition(epoch: stage.log.rooms[.lobby]!.epoch, seq: 0))))
        }
        #expect(stage.heard(bob).states.first?.items.map(\.seq) == [1])
        #expect(stage.heard(ann).states.first?.high == 1)
        stage.publish(ann, 1...2)
        let said = stage.heard(ann)
        #expect(said.acks.map(\.isDuplicate).contains(true) && said.entries == [2])
    }

    @Test mutating func `a void that is on disk after all is found there, too`() {
        let ann = stage.member("ann")
        stage.log.fates = [.uncertain]
        stage.handle(ann, .publish(.lobby, .void(1)))
        stage.pass(.seconds(1))
        _ = stage.heard(ann)
        stage.handle(ann, .publish(.lobby, .void(1)))
        #expect(stage.heard(ann).acks == [.init(cseq: 1, seq: 0, at: 0, id: .numbered(1), isDuplicate: true)])
    }

    @Test mutating func `a rewound log has another epoch, and all members get it`() {
        let empty = stage.log
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        let early = stage.log
        stage.publish(ann, 1...3)
        stage.log.rewind(to: early)
        stage.log.fates = [.refused]
        stage.publish(ann, 4...4)
        stage.pass(.seconds(1))
        #expect(stage.heard(ann).last == .lag(.lobby, head: 0) && stage.heard(bob).last == .lag(.lobby, head: 0))
        stage.handle(bob, .join(.init(room: .lobby, cursor: LogPosition(epoch: 0xE1, seq: 3))))
        let state = stage.heard(bob).states.first
        #expect(state?.isSnapshot == true && state?.head == 0 && state?.epoch != 0xE1 && empty.rooms.isEmpty)
    }

    @Test mutating func `a room that fails again stays closed longer`() {
        let ann = stage.member("ann")
        stage.log.fates = Array(repeating: .refused, count: 8)
        var waits: [Int64] = []
        for _ in 0..<7 {
            stage.publish(ann, 1...1)
            guard case .after(let wait)? = stage.heard(ann).refusals.last?.retry else { return #expect(Bool(false), "no time") }
            waits.append(wait)
            stage.pass(.milliseconds(wait))
        }
        #expect(waits == [1100, 2100, 4100, 8100, 16_100, 16_100, 16_100])
        stage.log.fates = []
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).acks.count == 1)
    }
}
