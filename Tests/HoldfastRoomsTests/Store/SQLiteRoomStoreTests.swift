import Foundation
import HoldfastRooms
import RoomCore
import RoomsStorage
import Testing

/// Tests of the store in a file only.
struct SQLiteRoomStoreTests {
    let room = StoreSample.room

    @Test func `committed changes are there when the store is opened again`() async throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        var device: DeviceID?
        do {
            let store = try SQLiteRoomStore(path: path)
            device = try await store.device()
            try await store.commit([.queue(StoreSample.row(1)), .append(room, epoch: 9, StoreSample.entries(1...3)), .read(room, upTo: 2)])
        }
        let store = try SQLiteRoomStore(path: path)
        #expect(try await store.device() == device)
        #expect(
            try await store.room(room)
                == StoredRoom(cursor: LogPosition(epoch: 9, seq: 3), next: 2, outbox: [StoreSample.row(1)], read: 2))
        #expect(try await store.entries(room, before: nil, limit: 9) == StoreSample.entries(1...3))
    }

    @Test func `an unfinished transaction of a killed program is rolled back, also while it created the file`() async throws {
        let (path, copy) = (StoreSample.path(), StoreSample.path())
        defer { for path in [path, copy] { try? FileManager.default.removeItem(atPath: path) } }
        let store = try SQLiteRoomStore(path: path)
        let device = try await store.device()
        try await store.commit([.queue(StoreSample.row(1))])
        try store.close()
        // A file is created with this kind of journal. Only a writer can read it to its end.
        let connection = try SQLiteConnection(path + "/rooms.sqlite")
        try connection.run(
            "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE store SET device = zeroblob(200000)")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try connection.run("ROLLBACK")
        #expect(throws: SQLiteFailure.self) {
            try SQLiteConnection(copy + "/rooms.sqlite", isReadOnly: true).number("PRAGMA application_id")
        }
        let again = try SQLiteRoomStore(path: copy)
        #expect(try await again.device() == device)
        #expect(try await again.room(StoreSample.room).outbox == [StoreSample.row(1)])
    }

    @Test func `only its owner may use a store, whatever its modes were before`() async throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        func modes() throws -> [String: Int] {
            let files = try FileManager.default.contentsOfDirectory(atPath: path).map { path + "/" + $0 } + [path]
            return try Dictionary(
                uniqueKeysWithValues: files.map { file in
                    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? NSNumber
                    return (String(file.dropFirst(path.count)), mode?.intValue ?? 0)
                })
        }
        for number in 1...2 as ClosedRange<Int64> {
            let store = try SQLiteRoomStore(path: path)
            try await store.commit([.queue(StoreSample.row(number))])
            let found = try modes()
            #expect(Set(found.keys).isSuperset(of: ["", "/rooms.sqlite", "/rooms.sqlite-wal", "/rooms.sqlite-shm", "/lock"]))
            for (file, mode) in found { #expect(mode == (file.isEmpty ? 0o700 : 0o600), "\(file)") }
            try store.close()
            for file in found.keys {
                try? FileManager.default.setAttributes([.posixPermissions: file.isEmpty ? 0o755 : 0o644], ofItemAtPath: path + file)
            }
        }
    }

    @Test func `wrong modes are reported once`() throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try SQLiteRoomStore(path: path, hook: nil).close()
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path + "/rooms.sqlite")
        var said: [String] = []
        for _ in 1...2 { try SQLiteRoomStore(path: path, hook: nil, warn: { said.append($0) }).close() }
        #expect(said == ["\(path)/rooms.sqlite was open to others (0640): only its owner may use it now"])
    }

    #if canImport(Darwin)
        @Test func `a store is excluded from backups, and protected until the first unlock of the device`() async throws {
            let path = StoreSample.path()
            defer { try? FileManager.default.removeItem(atPath: path) }
            var said: [String] = []
            for number in 1...2 as ClosedRange<Int64> {
                let store = try SQLiteRoomStore(path: path, hook: nil, warn: { said.append($0) })
                try await store.commit([.queue(StoreSample.row(number))])
                let directory = URL(fileURLWithPath: path, isDirectory: true)
                #expect(try directory.resourceValues(forKeys: [.isExcludedFromBackupKey]).isExcludedFromBackup == true)
                // A simulator's files are on a Mac, which does not report this.
                #if os(iOS) && !targetEnvironment(simulator)
                    for file in ["", "/rooms.sqlite", "/rooms.sqlite-wal", "/lock"] {
                        let protection = try FileManager.default.attributesOfItem(atPath: path + file)[.protectionKey]
                        #expect(protection as? FileProtectionType == .completeUntilFirstUserAuthentication, "\(file)")
                    }
                #endif
                try store.close()
            }
            #expect(said.isEmpty)
        }
    #endif

    @Test func `a store belongs to one holder at a time`() async throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try SQLiteRoomStore(path: path)
        #expect(throws: RoomStoreError.inUse(path)) { try SQLiteRoomStore(path: path) }
        _ = try await store.device()
    }

    @Test func `a closed store refuses calls, and can be opened again`() async throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try SQLiteRoomStore(path: path)
        try store.close()
        await #expect(throws: RoomStoreError.closed) { try await store.commit([.read(room, upTo: 1)]) }
        _ = try SQLiteRoomStore(path: path)
    }

    @Test func `every commit is synced to disk`() async throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try SQLiteRoomStore(path: path)
        #expect(try await store.durability() == ["wal", "2"])
    }

    @Test func `a file that is not SQLite's is reported as damaged and left unchanged`() throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let bytes = Data(repeating: 0x41, count: 9000)
        try bytes.write(to: URL(fileURLWithPath: path + "/rooms.sqlite"))
        do throws(RoomStoreError) {
            _ = try SQLiteRoomStore(path: path)
            Issue.record("the file was opened")
        } catch {
            guard case .corrupt = error else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + "/rooms.sqlite")) == bytes)
    }

    @Test func `a store of another program is left unchanged`() throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: path + "/rooms.sqlite"))
        try edit(path, "CREATE TABLE theirs (a)")
        #expect(throws: RoomStoreError.corrupt("it is not a store of rooms")) { try SQLiteRoomStore(path: path) }
    }

    @Test func `a store of a newer version is left unchanged`() throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        _ = try SQLiteRoomStore(path: path)
        try edit(path, "PRAGMA user_version = 7")
        #expect(throws: RoomStoreError.newer(7)) { try SQLiteRoomStore(path: path) }
    }

    @Test func `a store of the first version gets a column for proofs`() async throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        do { _ = try SQLiteRoomStore(path: path) }
        try edit(path, "ALTER TABLE rooms DROP COLUMN proof; INSERT INTO rooms VALUES (1, 'abc', 9, 4, 5, 3, 2); PRAGMA user_version = 1")
        let proof = CursorProof(Bits128(high: .max, low: 7))
        do {
            let store = try SQLiteRoomStore(path: path)
            #expect(try await store.room(room) == StoredRoom(cursor: LogPosition(epoch: 9, seq: 4), first: 5, next: 3, read: 2))
            try await store.commit([.prove(room, proof)])
        }
        #expect(try await SQLiteRoomStore(path: path).room(room).proof == proof)
    }

    @Test func `a damaged page is reported when it is read`() async throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        do { _ = try SQLiteRoomStore(path: path) }
        try edit(path, "INSERT INTO rooms VALUES (1, 'abc', 9, 1, 1, 1, 0, NULL); INSERT INTO entries VALUES (\(1 << 40 | 1), 1, x'FF')")
        let store = try SQLiteRoomStore(path: path)
        await #expect(throws: RoomStoreError.corrupt("an entry at \(1 << 40 | 1)")) { try await store.entries(room, before: nil, limit: 9) }
    }

    @Test func `a failure in the middle of a transaction leaves nothing, and the next one is written`() async throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        do { _ = try SQLiteRoomStore(path: path) }
        try edit(path, "CREATE TRIGGER refusing BEFORE INSERT ON outbox WHEN NEW.cseq = 2 BEGIN SELECT RAISE(ROLLBACK, 'refused'); END")
        let store = try SQLiteRoomStore(path: path)
        await #expect(throws: RoomStoreError.self) {
            try await store.commit([.queue(StoreSample.row(1)), .queue(StoreSample.row(2)), .read(room, upTo: 3)])
        }
        #expect(try await store.room(room) == StoredRoom())
        try await store.commit([.queue(StoreSample.row(1))])
        #expect(try await store.room(room).next == 2)
    }

    /// Only root can change the owner of a file.
    @Test(.enabled(if: geteuid() == 0), arguments: ["", "/rooms.sqlite", "/lock"])
    func `a file or directory of another user is refused`(name: String) throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try SQLiteRoomStore(path: path).close()
        try FileManager.default.setAttributes([.ownerAccountID: 4242], ofItemAtPath: path + name)
        let error = #expect(throws: RoomStoreError.self) { try SQLiteRoomStore(path: path) }
        #expect(error?.description.contains("\(path + name) belongs to another user (uid 4242, and this is 0)") == true)
    }

    @Test(arguments: [
        "UPDATE rooms SET next = 9223372036854775807", "UPDATE rooms SET next = 0", "UPDATE rooms SET next = 'abc'",
        "UPDATE rooms SET epoch = 1.5", "UPDATE rooms SET seq = -1", "UPDATE rooms SET first = x'00'", "UPDATE rooms SET read = 1e300",
        "UPDATE rooms SET proof = 7", "UPDATE rooms SET id = 9223372036854775807", "UPDATE outbox SET cseq = 9223372036854775807",
        "UPDATE outbox SET message = 'abc'", "UPDATE outbox SET sent = 'abc'", "UPDATE outbox SET type = x'00'",
        "UPDATE outbox SET kind = 'edit', about = 'abc'", "UPDATE outbox SET isBinary = 'abc'", "UPDATE outbox SET payload = 'abc'",
        "UPDATE outbox SET state = 7", "UPDATE outbox SET code = 'abc'", "UPDATE outbox SET reason = x'00'",
    ]) func `an invalid value is reported as damage`(sql: String) async throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let store = try SQLiteRoomStore(path: path)
            try await store.commit([.queue(StoreSample.row(1)), .append(room, epoch: 9, StoreSample.entries(1...3))])
            try store.close()
        }
        try edit(path, sql)
        let store = try SQLiteRoomStore(path: path)
        do throws(RoomStoreError) {
            _ = try await store.room(room)
            Issue.record("the room was read")
        } catch {
            guard case .corrupt = error else { throw error }
        }
        // The summary reads fewer columns.
        _ = try? await store.rooms()
    }

    /// Changes a closed store as the store itself would not.
    private func edit(_ path: String, _ sql: String) throws {
        try SQLiteConnection(path + "/rooms.sqlite").run(sql)
    }
}
