import Dispatch
import Foundation
import RoomCore
import RoomsStorage
import Testing

@testable import HoldfastHub
import WebSocketRuntime

/// Which other users of the machine may read a log.
struct LogPrivacyTests {
    private let bench = LogBench()

    private func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber).intValue
    }

    private func set(_ mode: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: bench.path).map { bench.path + "/" + $0 } }
    }

    @Test func `only its owner may use a log, its journal, its lock and its copies`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(LogSample.room), LogSample.append(1...3)])
        try await log.backup(to: bench.path + "/copy.sqlite")
        #expect(log.privacy.isEmpty)
        #expect(try mode(bench.path) == 0o700)
        let names = try files.map { String($0.dropFirst(bench.path.count + 1)) }
        #expect(Set(names).isSuperset(of: ["rooms.sqlite", "rooms.sqlite-wal", "rooms.sqlite-shm", "lock", "copy.sqlite"]))
        for file in try files { #expect(try mode(file) == 0o600, "\(file)") }
        await log.close()
    }

    @Test func `wrong modes are corrected and reported`() async throws {
        let first = try await bench.open()
        _ = await first.carryOut([.open(LogSample.room), LogSample.append(1...3)])
        await first.close()
        for file in try files { try set(0o644, file) }
        try set(0o755, bench.path)
        let log = try await bench.open()
        #expect(try mode(bench.path) == 0o700 && mode(bench.file) == 0o600 && mode(bench.path + "/lock") == 0o600)
        #expect(log.privacy.contains("\(bench.path) was open to others (0755): only its owner may use it now"))
        #expect(log.privacy.contains("\(bench.file) was open to others (0644): only its owner may use it now"))
        #expect(await log.stored().count == 3)
        for file in try files { #expect(try mode(file) == 0o600, "\(file)") }
        await log.close()
    }

    @Test func `a directory with other files keeps its mode, and only the log's files are restricted`() async throws {
        let first = try await bench.open()
        _ = await first.carryOut([.open(LogSample.room), LogSample.append(1...3)])
        await first.close()
        try Data().write(to: URL(fileURLWithPath: bench.path + "/letter"))
        for file in try files { try set(0o644, file) }
        try set(0o755, bench.path)
        let log = try await bench.open()
        #expect(try mode(bench.path) == 0o755 && mode(bench.path + "/letter") == 0o644 && mode(bench.file) == 0o600)
        #expect(log.privacy.first?.hasPrefix("\(bench.path) is open to others (0755) and holds letter too, so it is left open") == true)
        #expect(await log.stored().count == 3)
        await log.close()
        // Correct modes are not reported.
        try set(0o700, bench.path)
        let again = try await bench.open()
        #expect(again.privacy.isEmpty)
        await again.close()
    }

    @Test func `an empty directory is restricted`() async throws {
        try Disk.makeDirectory(bench.path)
        try set(0o755, bench.path)
        let log = try await bench.open()
        #expect(try mode(bench.path) == 0o700 && log.privacy.count == 1)
        await log.close()
    }

    @Test func `missing parent directories are created, and the last directory is restricted`() throws {
        let deep = bench.path + "/a/b/c"
        try Disk.makeDirectory(bench.path)
        try Disk.makeDirectory(deep)
        try Disk.makeDirectory(deep)
        #expect(try mode(deep) == 0o700 && mode(bench.path + "/a") & 0o500 == 0o500)
        try Disk.makeFile(deep + "/file")
        #expect(throws: Disk.Failure.self) { try Disk.makeDirectory(deep + "/file/d") }
        #expect(throws: Disk.Failure.self) { try Disk.makeFile(deep + "/none/file") }
    }

    /// Only root can change the owner of a file.
    @Test(.enabled(if: geteuid() == 0), arguments: ["", "/rooms.sqlite", "/lock", "/letter"])
    func `a file or directory of another user is refused and left unchanged`(name: String) async throws {
        try await bench.open().close()
        // With a foreign file in it the directory keeps its mode, and must be ours all the same.
        if name == "/letter" { try Data().write(to: URL(fileURLWithPath: bench.path + name)) }
        let given = bench.path + (name == "/letter" ? "" : name)
        try FileManager.default.setAttributes([.ownerAccountID: 4242], ofItemAtPath: given)
        let mode = try mode(given)
        let error = await #expect(throws: RoomLogError.self) { try await bench.open() }
        #expect(error?.description.contains("\(given) belongs to another user (uid 4242, and this is 0)") == true)
        #expect(try self.mode(given) == mode)
        try FileManager.default.setAttributes([.ownerAccountID: 0], ofItemAtPath: given)
        try await bench.open().close()
    }

    @Test(.enabled(if: geteuid() == 0)) func `a symbolic link is accepted only if its owner and its target are trusted`() async throws {
        try await bench.open().close()
        let link = bench.path + "-link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: bench.path)
        defer { try? FileManager.default.removeItem(atPath: link) }
        try Disk.checkOwner(link)
        lchown(link, 4242, 0)
        #expect(throws: Disk.UnsafeFile.self) { try Disk.checkOwner(link) }
        lchown(link, 0, 0)
        chown(bench.path, 4242, 0)
        #expect(throws: Disk.UnsafeFile.self) { try Disk.checkOwner(link) }
        chown(bench.path, 0, 0)
        // A link that exists already is not taken for our file.
        chown(bench.file, 4242, 0)
        #expect(throws: Disk.Failure.self) { try Disk.makeFile(bench.file) }
    }

    @Test func `the lock must not be a symbolic link`() async throws {
        try await bench.open().close()
        try FileManager.default.removeItem(atPath: bench.path + "/lock")
        try FileManager.default.createSymbolicLink(atPath: bench.path + "/lock", withDestinationPath: bench.path + "/elsewhere")
        #expect(throws: FileLock.Failure.system(ELOOP)) { try FileLock(bench.path + "/lock") }
        #expect(!FileManager.default.fileExists(atPath: bench.path + "/elsewhere"))
    }

    @Test func `a directory that is open to everyone stays so`() throws {
        try Disk.makeDirectory(bench.path)
        try set(0o1777, bench.path)
        let said = try Disk.closeToOthers([bench.path, bench.path + "/none"])
        #expect(said.count == 1 && said.first?.contains("a shared directory (01777)") == true)
        #expect(try mode(bench.path) == 0o1777)
    }

    @Test func `the key for program names stays with its log`() async throws {
        let (log, other) = (try await bench.open(), LogBench())
        let prefix = log.names.prefix
        await log.close()
        let (again, second) = (try await bench.open(), try await other.open())
        #expect(again.names.prefix == prefix && second.names.prefix != prefix)
        await again.close()
        await second.close()
    }

    @Test func `a program's device depends only on the program, the user and the name`() throws {
        let (names, others) = (PublicationNames.drawn(), PublicationNames.drawn())
        let (ann, bob, one, two) = (LogSample.ann, LogSample.bob, LogSample.id(1), LogSample.id(2))
        let devices = [
            names.device(for: one, of: ann, program: nil), names.device(for: two, of: ann, program: nil),
            names.device(for: one, of: bob, program: nil), names.device(for: one, of: ann, program: "key"),
            others.device(for: one, of: ann, program: nil), DeviceID(one.bits),
        ]
        #expect(Set(devices).count == devices.count)
        #expect(names.device(for: one, of: ann, program: nil) == devices[0])
        #expect(devices.prefix(4).allSatisfy { StoredEntry.bytes(of: $0.bits).starts(with: names.prefix) })
        #expect(!StoredEntry.bytes(of: devices[4].bits).starts(with: names.prefix))
    }

    // MARK: Health

    @Test func `a log's health is known while it waits for the disk`() async throws {
        let (isAtWork, goOn) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
        let log = try await bench.open { point in
            guard point == .hubAppends else { return }
            isAtWork.continuation.yield()
            goOn.wait()
        }
        _ = await log.carryOut([.open(LogSample.room)])
        async let replies = log.carryOut([LogSample.append(1...1)])
        for await _ in isAtWork.stream { break }
        // These would wait until the transaction ends.
        #expect(await log.health == .healthy)
        #expect(await log.figures.commits == 0)
        goOn.signal()
        #expect(await replies == [.appended(LogSample.room, batch: 1)])
        #expect(await log.figures.commits == 1)
        await log.close()
    }

    @Test func `a transaction that does not end counts as a failure`() {
        let (gauge, now) = (LogGauge(), ContinuousClock.now)
        gauge.begin(at: now)
        #expect(gauge.health(at: now + .seconds(3)).isHealthy && !gauge.health(at: now + .seconds(4)).isHealthy)
        gauge.end()
        #expect(gauge.health(at: now + .seconds(60)).isHealthy)
        gauge.notify(.failing(.full))
        gauge.begin(at: now)
        #expect(gauge.health(at: now + .seconds(60)) == .failing(.full))
    }
}
