import Foundation
import MachineCore

/// What salts follow from, and the challenges of those who are not on a list of users: kept in a file beside the list.
struct DecoyKey {
    /// Why it cannot be kept.
    struct Problem: Error, CustomStringConvertible {
        let description: String

        init(_ path: String, _ what: String) { description = "\(path.escapedOnOneLine): \(what)" }
    }

    private static let length = 32
    let bytes: [UInt8]

    /// The key beside a list of users; it is drawn when it is not there, and only its owner may read it.
    static func kept(beside users: String) throws(Problem) -> DecoyKey {
        let path = users + ".key"
        // A pipe has no place beside it.
        guard isFile(URL(filePath: users).resolvingSymlinksInPath().path) else { throw Problem(users, "it is no file") }
        if let key = try read(path) { return key }
        if let key = try made(at: path) { return key }
        // Another process was first.
        if let key = try read(path) { return key }
        throw Problem(path, "it comes and goes")
    }

    private static func isFile(_ path: String) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType) == .typeRegular
    }

    /// What is in the file; nil if there is none.
    private static func read(_ path: String) throws(Problem) -> DecoyKey? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Problem(path, String(cString: strerror(errno)))
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard isFile(path) else { throw Problem(path, "it is no file") }
        // Who reads it can tell names on the list from others.
        if fchmod(descriptor, 0o600) != 0 { throw Problem(path, "it cannot be closed to others") }
        let text = (try? file.read(upToCount: 1024)).flatMap { $0 }.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let digits = text.utf8.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard let bytes = Hexadecimal.bytes(digits), bytes.count == length else {
            throw Problem(path, "it holds no key of 64 hexadecimal digits")
        }
        return DecoyKey(bytes: bytes)
    }

    /// A new key; nil if there is one by now.
    private static func made(at path: String) throws(Problem) -> DecoyKey? {
        let bytes = (0..<length).map { _ in UInt8.random(in: 0 ... .max) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return nil }
            throw Problem(path, String(cString: strerror(errno)))
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data((Hexadecimal.text(bytes) + "\n").utf8))
            try file.synchronize()
        } catch {
            unlink(path)
            throw Problem(path, "it cannot be written")
        }
        return DecoyKey(bytes: bytes)
    }
}
