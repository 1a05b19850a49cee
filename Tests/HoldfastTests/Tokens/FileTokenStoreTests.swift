#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif
import Foundation
import Testing

@testable import Holdfast

@Suite struct FileTokenStoreTests {
    /// A temporary directory that is removed after the test.
    private final class TokenDirectory {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("tokens-\(UUID())").path
        var store: FileTokenStore { FileTokenStore(path: path + "/token") }

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func put(_ text: String, mode: mode_t = 0o600) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: store.path))
            try #require(chmod(store.path, mode) == 0)
        }

        /// The permissions of the file if it is a regular one.
        func mode() throws -> Int? {
            let attributes = try FileManager.default.attributesOfItem(atPath: store.path)
            return attributes[.type] as? FileAttributeType == .typeRegular ? attributes[.posixPermissions] as? Int : nil
        }

        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path) }

        func loading() -> TokenStoreError? {
            do throws(TokenStoreError) {
                _ = try store.load()
                return nil
            } catch {
                return error
            }
        }
    }

    private static let token = StoredToken("secret", refresh: "next", expires: Date(timeIntervalSince1970: 1_800_000_000.25))

    @Test func `a token is saved, loaded, replaced and deleted`() throws {
        let directory = try TokenDirectory()
        let store = directory.store
        #expect(try store.load() == nil)
        try store.save(Self.token)
        #expect(try store.load() == Self.token)
        let other = StoredToken("another")
        try store.save(other)
        #expect(try FileTokenStore(path: store.path).load() == other)
        try store.delete()
        #expect(try store.load() == nil)
        try store.delete()
        #expect(try directory.names().isEmpty)
    }

    @Test func `only the owner may read the file, and no other file is left`() throws {
        let directory = try TokenDirectory()
        try directory.store.save(Self.token)
        #expect(try directory.mode() == 0o600)
        #expect(try directory.names() == ["token"])
    }

    @Test(arguments: [0o644, 0o640, 0o620, 0o602, 0o601]) func `a file that others can access is refused, and saving restricts it`(
        mode: UInt32
    ) throws {
        let directory = try TokenDirectory()
        try directory.store.save(Self.token)
        try #require(chmod(directory.store.path, mode_t(mode)) == 0)
        guard case .exposed(let how) = directory.loading() else {
            Issue.record("a file with open permissions was loaded")
            return
        }
        #expect(how.contains("mode 0\(String(mode, radix: 8))"))
        try directory.store.save(Self.token)
        #expect(try directory.mode() == 0o600)
        #expect(try directory.store.load() == Self.token)
    }

    @Test func `a link and a pipe are refused at once, and saving does not follow a link`() throws {
        let directory = try TokenDirectory()
        let target = directory.path + "/target"
        try FileTokenStore(path: target).save(Self.token)
        try #require(symlink(target, directory.store.path) == 0)
        #expect(directory.loading() == .exposed("\(directory.store.path) is a link"))
        try directory.store.save(StoredToken("another"))
        #expect(try FileTokenStore(path: target).load() == Self.token)
        #expect(try directory.store.load() == StoredToken("another"))
        try directory.store.delete()
        try #require(mkfifo(directory.store.path, 0o600) == 0)
        #expect(directory.loading() == .exposed("\(directory.store.path) is not a regular file"))
    }

    @Test(arguments: ["", "{", "{\"version\":1}", "[]", "{\"version\":1,\"secret\":7}", "\u{0}"]) func `a damaged file is an error`(
        text: String
    ) throws {
        let directory = try TokenDirectory()
        try directory.put(text)
        #expect(directory.loading() == .damaged("it is not a token"))
        try directory.store.save(Self.token)
        #expect(try directory.store.load() == Self.token)
    }

    @Test func `every truncated file is damaged, and the error contains nothing of it`() throws {
        let directory = try TokenDirectory()
        try directory.store.save(Self.token)
        let text = try String(contentsOfFile: directory.store.path, encoding: .utf8)
        for length in 0..<text.count {
            try directory.put(String(text.prefix(length)))
            let error = try #require(directory.loading())
            #expect(!error.description.contains("secret") && !error.description.contains("next"))
        }
    }

    @Test func `a newer format and a token that is too long are refused`() throws {
        let directory = try TokenDirectory()
        try directory.put("{\"version\":2,\"secret\":\"s\"}")
        #expect(directory.loading() == .damaged("its format has the unknown version 2"))
        try directory.put("{\"version\":1,\"secret\":\"\(String(repeating: "s", count: StoredToken.limit))\"}")
        #expect(directory.loading() == .damaged("it is too long"))
        let before = try directory.names()
        #expect(throws: TokenStoreError.tooLong) {
            try directory.store.save(StoredToken(String(repeating: "s", count: StoredToken.limit)))
        }
        #expect(try directory.names() == before)
    }

    @Test func `an error of the system has its number`() throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(path: directory.path + "/missing/token")
        #expect(try store.load() == nil)
        do {
            try store.save(Self.token)
            Issue.record("a token was saved in a missing directory")
        } catch let TokenStoreError.file(number, _) {
            #expect(number == ENOENT)
        }
        try FileManager.default.createDirectory(atPath: directory.store.path, withIntermediateDirectories: false)
        #expect(throws: TokenStoreError.self) { try directory.store.save(Self.token) }
        // The temporary file was removed.
        #expect(try directory.names() == ["token"])
    }

    @Test func `the next change removes temporary files of a crash and no others`() throws {
        let directory = try TokenDirectory()
        let others = ["token.part", "token.1.parts", "token.x.part", "tokens.1.part", "other.1.part"]
        func leave(_ names: [String]) throws {
            for name in names { try Data("secret".utf8).write(to: URL(fileURLWithPath: "\(directory.path)/\(name)")) }
        }
        try leave(others + ["token.1.part"])
        try directory.store.save(Self.token)
        #expect(Set(try directory.names()) == Set(others + ["token"]))
        for isStored in [true, false] {
            try leave(["token.\(UInt64.max).part"])
            try directory.store.delete()
            #expect(Set(try directory.names()) == Set(others), "\(isStored)")
        }
    }

    @Test func `a temporary file that is still locked is kept`() throws {
        let directory = try TokenDirectory()
        let part = directory.path + "/token.1.part"
        let descriptor = open(part, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        try directory.store.save(Self.token)
        try directory.store.delete()
        #expect(try directory.names() == ["token.1.part"])
        try #require(close(descriptor) == 0)
        try directory.store.delete()
        #expect(try directory.names().isEmpty)
    }

    @Test func `many simultaneous saves leave one whole token`() async throws {
        let directory = try TokenDirectory()
        let store = directory.store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                group.addTask {
                    try store.save(StoredToken("secret \(number)", refresh: String(repeating: "r", count: number * 500)))
                    _ = try store.load()
                }
            }
            try await group.waitForAll()
        }
        let token = try #require(try store.load())
        let number = try #require(Int(token.secret.dropFirst("secret ".count)))
        #expect(token.refresh?.count == number * 500)
        #expect(try directory.names() == ["token"])
    }
}
