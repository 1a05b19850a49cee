import Foundation
import HoldfastRooms
import Testing

@testable import HoldfastTool

@Suite struct PrintedMarkTests {
    @Test func `a mark is found again, each room's its own, and a short number leaves nothing of a long one`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("printed-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (one, other) = (try #require(RoomName("a/../b")), try #require(RoomName("b")))
        let mark = try PrintedMark(store: directory, room: one)
        #expect(mark.position == nil)
        try mark.note(LogPosition(epoch: .max, seq: .max))
        try mark.note(LogPosition(epoch: 3, seq: 7))
        let (again, first) = (try PrintedMark(store: directory, room: one), try PrintedMark(store: directory, room: other))
        #expect(again.position == LogPosition(epoch: 3, seq: 7) && first.position == nil)
        let files = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(files.count == 2)
    }
}
