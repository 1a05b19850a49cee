import MachineCore
import RoomCore
import Testing

/// The figures that a hub reports about its rooms.
@Suite struct HubFiguresTests {
    private var stage = HubStage()

    private func names(_ rooms: [RoomFigures]) -> [String] { rooms.map(\.room.text) }

    @Test mutating func `rooms with the most members come first`() {
        for (room, members) in [("a", 1), ("b", 3), ("c", 2), ("d", 3), ("e", 0)] {
            for number in 0..<members { _ = stage.member("u\(number)", of: RoomName(room)!) }
        }
        let busiest = stage.hub.busiest(3, at: stage.now)
        #expect(names(busiest.byMembers) == ["b", "d", "c"] && busiest.byMembers.map(\.members) == [3, 3, 2])
        #expect(busiest.byPace.isEmpty && names(stage.hub.busiest(9, at: stage.now).byMembers) == ["b", "d", "c", "a"])
    }

    @Test mutating func `a room's rate covers its last ten seconds`() {
        let (one, other) = (RoomName("one")!, RoomName("other")!)
        let id = stage.member("ann", of: one)
        stage.handle(id, .join(.init(room: other)))
        stage.pass(.seconds(5))
        stage.publish(id, 1...40, in: one)
        stage.publish(id, 1...20, in: other)
        stage.handle(id, .publish(other, .void(21)))
        #expect(stage.hub.busiest(9, at: stage.now).byPace.map(\.pace) == [4, 2])
        stage.pass(.seconds(10))
        // Half of that time is no longer within the ten seconds.
        #expect(stage.hub.busiest(9, at: stage.now).byPace.map(\.pace) == [2, 1])
        stage.publish(id, 22...51, in: other)
        let busiest = stage.hub.busiest(1, at: stage.now).byPace
        #expect(names(busiest) == ["other"] && busiest.map(\.pace) == [4])
        stage.pass(.seconds(20))
        #expect(stage.hub.busiest(9, at: stage.now).byPace.isEmpty)
    }
}
