import MachineCore
import RoomCore
import Testing

/// "`high` is a fence": after a newer connection of a device got its state, nothing of an older connection takes effect.
@Suite struct HubRenewingTests {
    private var stage = HubStage()
    private let other = RoomName("other")!

    /// A connection of a device that joins a room.
    ///
    /// It gets its state as soon as there is one.
    private mutating func joined(device: UInt64 = 1, room: RoomName = .lobby) -> ConnectionID {
        let id = stage.client("ann", device: device)
        stage.handle(id, .join(.init(room: room)))
        return id
    }

    @Test(arguments: ["stays", "ends", "leaves"])
    mutating func `an older connection's publications are on disk before a newer connection gets its state`(older outcome: String) throws {
        let older = stage.member("ann", device: 1)
        stage.publish(older, 1...1)
        stage.holdsLog = true
        stage.publish(older, 2...4)
        if outcome == "ends" { stage.give(.gone(older)) }
        if outcome == "leaves" { stage.handle(older, .leave(.lobby)) }
        let newer = joined()
        #expect(stage.takeFrames(newer).states.isEmpty)
        // The first append is pending, and the collected publications follow it.
        stage.answer(1)
        #expect(stage.takeFrames(newer).states.isEmpty)
        stage.answer()
        let received = stage.takeFrames(newer)
        let state = try #require(received.states.first)
        #expect(state.high == 4 && state.highID == .numbered(4) && received.states.count == 1 && received.acks.isEmpty)
        stage.publish(older, 5...6)
        stage.answer()
        #expect(stage.log.rooms[.lobby]?.head == 4)
        stage.publish(newer, 5...5)
        stage.answer()
        #expect(stage.takeFrames(newer).acks.map(\.cseq) == [5])
    }

    @Test mutating func `a room without pending publications delays no join`() {
        let older = stage.member("ann", device: 1)
        stage.handle(older, .join(.init(room: other)))
        stage.holdsLog = true
        stage.publish(older, 1...1)
        let (newer, bob) = (stage.client("ann", device: 1), stage.client("bob", device: 2))
        // The join waits only for the read.
        stage.handle(newer, .join(.init(room: other)))
        stage.handle(bob, .join(.init(room: .lobby)))
        let orders = stage.orders
        stage.orders = orders.filter { if case .append = $0 { false } else { true } }
        stage.answer()
        stage.orders = orders.filter { if case .append = $0 { true } else { false } }
        #expect(stage.takeFrames(newer).states.map(\.high) == [0] && stage.takeFrames(bob).states.count == 1)
        stage.handle(newer, .join(.init(room: .lobby)))
        #expect(stage.takeFrames(newer).states.isEmpty)
        stage.answer()
        #expect(stage.takeFrames(newer).states.map(\.high) == [1])
    }

    @Test mutating func `a client that joins again does not wait for its own publications`() {
        let ann = stage.member("ann", device: 1)
        stage.holdsLog = true
        stage.publish(ann, 1...2)
        stage.handle(ann, .join(.init(room: .lobby)))
        #expect(stage.takeFrames(ann).states.map(\.high) == [0])
        stage.answer()
        #expect(stage.takeFrames(ann).acks.map(\.cseq) == [1, 2])
    }

    @Test(arguments: [ModelLog.Outcome.refused, .uncertain])
    mutating func `after a failed append the state has what is on disk when the room was opened again`(outcome: ModelLog.Outcome) {
        let older = stage.member("ann", device: 1)
        stage.publish(older, 1...1)
        stage.holdsLog = true
        stage.publish(older, 2...2)
        stage.publish(older, 3...3)
        stage.log.outcomes = [outcome]
        let newer = joined()
        stage.answer()
        #expect(stage.takeFrames(newer).states.isEmpty)
        stage.pass(.seconds(2))
        stage.answer()
        let high: Int64 = outcome == .uncertain ? 2 : 1
        #expect(stage.takeFrames(newer).states.map(\.high) == [high])
        stage.publish(newer, (high + 1)...(high + 1))
        stage.answer()
        #expect(stage.takeFrames(newer).acks.map(\.cseq) == [high + 1])
    }

    // MARK: Slow token checks

    private func hello(device: UInt64 = 1) -> ClientFrame {
        .hello(.init(versions: [1], device: .numbered(device), token: "ann", joins: [.init(room: .lobby)]))
    }

    @Test(arguments: [true, false])
    mutating func `the order of hellos decides which connection is newer, however long token checks take`(newerStays: Bool) {
        stage.holdsTokens = true
        let (older, newer) = (stage.open(), stage.open())
        stage.handle(older, hello(), .publish(.lobby, .numbered(1)))
        stage.handle(newer, hello())
        stage.identify(newer, "ann")
        #expect(stage.takeFrames(newer).states.map(\.high) == [0])
        if !newerStays { stage.give(.gone(newer)) }
        stage.identify(older, "ann")
        #expect(stage.closed[older] == 4000 && stage.takeFrames(older).isEmpty && stage.closed[newer] == nil)
        #expect(stage.log.rooms[.lobby]?.head == 0)
        // A connection that comes afterwards is newer than both.
        let third = stage.open()
        stage.handle(third, hello())
        stage.identify(third, "ann")
        #expect(stage.takeFrames(third).states.count == 1 && stage.closed[newer] == (newerStays ? 4000 : nil))
    }

    @Test mutating func `connections of other users and other devices do not count as older or newer`() {
        stage.holdsTokens = true
        let ids = (0..<3).map { _ in stage.open() }
        for (id, device) in zip(ids, [1, 1, 2] as [UInt64]) { stage.handle(id, hello(device: device)) }
        stage.identify(ids[2], "ann")
        stage.identify(ids[1], "bob")
        stage.identify(ids[0], "ann")
        #expect(stage.closed.isEmpty)
        for id in ids { stage.give(.gone(id)) }
        stage.pass(.seconds(100))
        #expect(stage.hub.isEmpty)
    }

    @Test mutating func `no state remains of connections that were never authenticated`() {
        stage.holdsTokens = true
        let ids = (0..<3).map { _ in stage.open() }
        for id in ids { stage.handle(id, hello()) }
        stage.identify(ids[1], "ann")
        stage.identify(ids[0], nil)
        stage.pass(.seconds(10))
        #expect(stage.closed[ids[2]] == 4002 && stage.closed[ids[0]] == 4101)
        stage.give(.gone(ids[1]))
        stage.pass(.seconds(100))
        #expect(stage.hub.isEmpty)
    }
}
