#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif
import Foundation
import WebSocketRuntime

/// A token in a file that only its owner may read: for tools and services, where there is no keychain.
///
/// A new file is written beside the old one, with mode 0600 from its first moment on. It is on disk before it takes the old one's place,
/// and takes it at once; so a crash or a full disk leaves the old token or the new one. What a crash leaves beside it goes with the next
/// ``save(_:)`` or ``delete()``. A file that others may read, that belongs to another user, or that is a link or a pipe is refused with
/// ``TokenStoreError/exposed(_:)``, and not waited for.
///
/// Its methods block until the disk is done, for some milliseconds as a rule: do not call ``save(_:)`` on the main actor. The secret lies
/// in the file as it is: who has the user's rights, or the disk, has the token.
public struct FileTokenStore: TokenStore {
    /// Where the file is; its directory has to be there.
    public let path: String

    /// A store in this file, which need not be there yet.
    public init(path: String) { self.path = path }

    /// The token in the file; nil if there is no file.
    public func load() throws(TokenStoreError) -> StoredToken? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw .exposed("\(path) is a link")
            default: throw .file(errno: errno, "\(path) could not be opened")
            }
        }
        defer { _ = close(descriptor) }
        try check(descriptor)
        return try TokenRecord.decode(contents(of: descriptor))
    }

    /// Puts a token in the place of the one before.
    public func save(_ token: StoredToken) throws(TokenStoreError) {
        let bytes = try TokenRecord.encode(token)
        let (descriptor, part) = try makePart()
        // Who removes what crashes have left sees until then that it is in use.
        defer { _ = close(descriptor) }
        do throws(TokenStoreError) {
            try write(bytes, to: descriptor, part)
            do { try Disk.sync(part) } catch { throw .file(errno: error.number, "\(part) could not be put on disk") }
            guard rename(part, path) == 0 else { throw .file(errno: errno, "\(path) could not be replaced") }
        } catch {
            _ = unlink(part)
            throw error
        }
        try syncDirectory()
        // It is saved, whatever becomes of them.
        try? removeParts()
    }

    /// Removes the file; harmless if there is none.
    public func delete() throws(TokenStoreError) {
        let wasThere = unlink(path) == 0
        guard wasThere || errno == ENOENT else { throw .file(errno: errno, "\(path) could not be deleted") }
        try removeParts()
        if wasThere { try syncDirectory() }
    }

    /// Makes the file that will take the place of the old one, and holds it.
    private func makePart() throws(TokenStoreError) -> (descriptor: Int32, path: String) {
        while true {
            // Another name for each, so that two who save at once do not write into one file.
            let part = "\(path).\(UInt64.random(in: .min ... .max)).part"
            let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw .file(errno: errno, "\(part) could not be made") }
            let isTaken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
            var status = stat()
            if !isTaken, fstat(descriptor, &status) == 0, status.st_nlink > 0 { return (descriptor, part) }
            // Somebody took it for a remnant before it was held.
            _ = unlink(part)
            _ = close(descriptor)
        }
    }

    /// Removes what was left by those who were ended while they saved: nobody holds it any more.
    private func removeParts() throws(TokenStoreError) {
        let (start, end) = ("\(path.split(separator: "/").last ?? "").", ".part")
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            guard name.hasPrefix(start), name.hasSuffix(end) else { continue }
            guard UInt64(name.dropFirst(start.count).dropLast(end.count)) != nil else { continue }
            let part = "\(directory)/\(name)"
            let descriptor = open(part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { _ = close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else { continue }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { continue }
            guard unlink(part) == 0 || errno == ENOENT else { throw .file(errno: errno, "\(part) could not be deleted") }
        }
    }

    private var directory: String {
        let names = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return names.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : names
    }

    private func check(_ descriptor: Int32) throws(TokenStoreError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(errno: errno, "\(path) could not be looked at") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .exposed("\(path) is no plain file") }
        guard status.st_uid == geteuid() else { throw .exposed("\(path) belongs to another user") }
        guard status.st_mode & 0o077 == 0 else {
            throw .exposed("others may use \(path) (mode 0\(String(status.st_mode & 0o777, radix: 8))); chmod 600 closes it")
        }
    }

    private func contents(of descriptor: Int32) throws(TokenStoreError) -> Data {
        // One more than there may be, so that what is too long is seen and not read.
        var (bytes, count) = ([UInt8](repeating: 0, count: StoredToken.limit + 1), 0)
        while count < bytes.count {
            let room = bytes.count - count
            let got = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress?.advanced(by: count), room) }
            if got == 0 { break }
            if got > 0 { count += got } else if errno != EINTR { throw .file(errno: errno, "\(path) could not be read") }
        }
        return Data(bytes.prefix(count))
    }

    private func write(_ data: Data, to descriptor: Int32, _ part: String) throws(TokenStoreError) {
        let bytes = [UInt8](data)
        var done = 0
        while done < bytes.count {
            let left = bytes.count - done
            #if canImport(Darwin)
                let put = bytes.withUnsafeBytes { Darwin.write(descriptor, $0.baseAddress?.advanced(by: done), left) }
            #elseif canImport(Musl)
                let put = bytes.withUnsafeBytes { Musl.write(descriptor, $0.baseAddress?.advanced(by: done), left) }
            #else
                let put = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress?.advanced(by: done), left) }
            #endif
            if put >= 0 { done += put } else if errno != EINTR { throw .file(errno: errno, "\(part) could not be written") }
        }
    }

    /// Puts the name on disk, too.
    ///
    /// Some file systems cannot, and then the name comes there by itself.
    private func syncDirectory() throws(TokenStoreError) {
        do { try Disk.sync(directory) } catch {
            if error.number != EINVAL { throw .file(errno: error.number, "\(directory) could not be put on disk") }
        }
    }
}
