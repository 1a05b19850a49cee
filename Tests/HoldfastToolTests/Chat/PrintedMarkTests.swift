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
        for file in files {
            let mode = try FileManager.default.attributesOfItem(atPath: directory + "/" + file)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600, "\(file)")
        }
    }

    @Test func `a link, a pipe and another user's file are refused, and not waited for`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("printed-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let room = try #require(RoomName("b"))
        _ = try PrintedMark(store: directory, room: room)
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: directory).first)
        let path = directory + "/" + name
        if geteuid() == 0 {
            try FileManager.default.setAttributes([.ownerAccountID: 4242], ofItemAtPath: path)
            #expect(throws: RoomStoreError.self) { try PrintedMark(store: directory, room: room) }
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: directory + "/elsewhere")
        #expect(throws: RoomStoreError.self) { try PrintedMark(store: directory, room: room) }
        #expect(!FileManager.default.fileExists(atPath: directory + "/elsewhere"))
        try FileManager.default.removeItem(atPath: path)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(throws: RoomStoreError.self) { try PrintedMark(store: directory, room: room) }
    }
}
