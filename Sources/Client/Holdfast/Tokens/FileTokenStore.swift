#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif
import Foundation
import WebSocketRuntime

/// Stores a token in a file that only its owner may read, for tools and services without a keychain.
///
/// ``save(_:)`` writes a new file beside the old one, with mode 0600 from the start. When the new file is on disk, it replaces the old one
/// atomically, so a crash or a full disk leaves either the old token or the new one. The next ``save(_:)`` or ``delete()`` removes
/// temporary files that a crash left. A file that others may read, that belongs to another user, or that is a link or a pipe is refused with
/// ``TokenStoreError/exposed(_:)``; the store does not wait for a pipe.
///
/// The methods block until the disk is done, usually for some milliseconds, so do not call ``save(_:)`` on the main actor. The file
/// contains the secret unencrypted: anyone with the user's rights, or with the disk, has the token.
public struct FileTokenStore: TokenStore {
    /// The path of the file; its directory must exist.
    public let path: String

    /// Creates a store for this file, which need not exist yet.
    public init(path: String) { self.path = path }

    /// Returns the token in the file; nil if there is no file.
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

    /// Replaces the stored token.
    public func save(_ token: StoredToken) throws(TokenStoreError) {
        let bytes = try TokenRecord.encode(token)
        let (descriptor, part) = try makePart()
        // The lock, held until the close, shows `removeParts` of other stores that the file is in use.
        defer { _ = close(descriptor) }
        do throws(TokenStoreError) {
            try write(bytes, to: descriptor, part)
            do { try Disk.sync(part) } catch { throw .file(errno: error.number, "\(part) could not be synced to disk") }
            guard rename(part, path) == 0 else { throw .file(errno: errno, "\(path) could not be replaced") }
        } catch {
            _ = unlink(part)
            throw error
        }
        try syncDirectory()
        // The token is saved even if this fails.
        try? removeParts()
    }

    /// Removes the file; harmless if there is none.
    public func delete() throws(TokenStoreError) {
        let wasThere = unlink(path) == 0
        guard wasThere || errno == ENOENT else { throw .file(errno: errno, "\(path) could not be deleted") }
        try removeParts()
        if wasThere { try syncDirectory() }
    }

    /// Creates and locks the temporary file that will replace the old one.
    private func makePart() throws(TokenStoreError) -> (descriptor: Int32, path: String) {
        while true {
            // Each gets its own name, so that two concurrent saves do not write into one file.
            let part = "\(path).\(UInt64.random(in: .min ... .max)).part"
            let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw .file(errno: errno, "\(part) could not be created") }
            let isTaken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
            var status = stat()
            if !isTaken, fstat(descriptor, &status) == 0, status.st_nlink > 0 { return (descriptor, part) }
            // Another store took it for a leftover before it was locked.
            _ = unlink(part)
            _ = close(descriptor)
        }
    }

    /// Removes temporary files of saves that a crash interrupted; such files are not locked any more.
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
        guard fstat(descriptor, &status) == 0 else { throw .file(errno: errno, "\(path) could not be inspected") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .exposed("\(path) is not a regular file") }
        guard status.st_uid == geteuid() else { throw .exposed("\(path) belongs to another user") }
        guard status.st_mode & 0o077 == 0 else {
            throw .exposed("others may use \(path) (mode 0\(String(status.st_mode & 0o777, radix: 8))); run chmod 600 on it")
        }
    }

    private func contents(of descriptor: Int32) throws(TokenStoreError) -> Data {
        // Reads one byte more than allowed, so that a file that is too long is noticed without reading all of it.
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

    /// Syncs the directory, so that the file's name is on disk, too.
    ///
    /// Some file systems do not support this; there the name reaches the disk later.
    private func syncDirectory() throws(TokenStoreError) {
        do { try Disk.sync(directory) } catch {
            if error.number != EINVAL { throw .file(errno: error.number, "\(directory) could not be synced to disk") }
        }
    }
}
