import MachineCore
import RoomCore
import Testing

/// Publications and rooms after a failure of the log.
@Suite struct HubLogFailureTests {
    private var stage = HubStage()

    @Test mutating func `publications that may not be on disk are dropped, and accepted again when the room is open again`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.log.outcomes = [.refused]
        stage.holdsLog = true
        stage.publish(ann, 1...2)
        stage.publish(bob, 1...1)
        stage.answer()
        let (first, second) = (stage.takeFrames(ann), stage.takeFrames(bob))
        #expect(first.refusals.map(\.cseq) == [1] && first.codes == [.storage] && second.codes == [.storage] && first.acks.isEmpty)
        #expect(stage.hub.figures.closedRooms == 1 && stage.hub.figures.failedAppends == 1)
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).codes == [.storage] && stage.orders.isEmpty)
        stage.holdsLog = false
        stage.pass(.seconds(1))
        #expect(stage.hub.figures.closedRooms == 0)
        stage.publish(ann, 1...2)
        #expect(stage.takeFrames(ann).acks.map(\.seq) == [1, 2])
        #expect(stage.takeFrames(bob).entries == [1, 2])
    }

    @Test mutating func `a publication that is on disk after all is found there`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.log.outcomes = [.uncertain]
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).codes == [.storage] && stage.takeFrames(bob).isEmpty)
        stage.pass(.seconds(1))
        // The log is longer than the hub reported, so all members join again.
        #expect(stage.takeFrames(ann) == [.lag(.lobby, head: 1)] && stage.takeFrames(bob) == [.lag(.lobby, head: 1)])
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).codes == [.early])
        for id in [ann, bob] {
            stage.handle(id, .join(.init(room: .lobby, cursor: LogPosition(epoch: stage.log.rooms[.lobby]!.epoch, seq: 0))))
        }
        #expect(stage.takeFrames(bob).states.first?.items.map(\.seq) == [1])
        #expect(stage.takeFrames(ann).states.first?.high == 1)
        stage.publish(ann, 1...2)
        let received = stage.takeFrames(ann)
        #expect(received.acks.map(\.isDuplicate).contains(true) && received.entries == [2])
    }

    @Test mutating func `a void that is on disk after all is found there, too`() {
        let ann = stage.member("ann")
        stage.log.outcomes = [.uncertain]
        stage.handle(ann, .publish(.lobby, .void(1)))
        stage.pass(.seconds(1))
        _ = stage.takeFrames(ann)
        stage.handle(ann, .publish(.lobby, .void(1)))
        #expect(stage.takeFrames(ann).acks == [.init(cseq: 1, seq: 0, at: 0, id: .numbered(1), isDuplicate: true)])
    }

    @Test mutating func `a rewound log has another epoch, and all members get it`() {
        let empty = stage.log
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        let early = stage.log
        stage.publish(ann, 1...3)
        stage.log.rewind(to: early)
        stage.log.outcomes = [.refused]
        stage.publish(ann, 4...4)
        stage.pass(.seconds(1))
        #expect(stage.takeFrames(ann).last == .lag(.lobby, head: 0) && stage.takeFrames(bob).last == .lag(.lobby, head: 0))
        stage.handle(bob, .join(.init(room: .lobby, cursor: LogPosition(epoch: 0xE1, seq: 3))))
        let state = stage.takeFrames(bob).states.first
        #expect(state?.isSnapshot == true && state?.head == 0 && state?.epoch != 0xE1 && empty.rooms.isEmpty)
    }

    @Test mutating func `a room that fails again stays closed longer`() {
        let ann = stage.member("ann")
        stage.log.outcomes = Array(repeating: .refused, count: 8)
        var waits: [Int64] = []
        for _ in 0..<7 {
            stage.publish(ann, 1...1)
            guard case .after(let wait)? = stage.takeFrames(ann).refusals.last?.retry else { return #expect(Bool(false), "no time") }
            waits.append(wait)
            stage.pass(.milliseconds(wait))
        }
        #expect(waits == [1100, 2100, 4100, 8100, 16_100, 16_100, 16_100])
        stage.log.outcomes = []
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).acks.count == 1)
    }
}
