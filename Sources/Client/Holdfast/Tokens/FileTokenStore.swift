#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif
import Foundation

/// A token in a file that only its owner may read: for tools and services, where there is no keychain.
///
/// A new file is written beside the old one, with mode 0600 from its first moment on. It is on disk before it takes the old one's place, and
/// takes it at once; so a crash or a full disk leaves the old token or the new one. A file that others may read, that belongs to another
/// user, or that is a link or a pipe is refused with ``TokenStoreError/exposed(_:)``, and not waited for.
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
        // Another name for each, so that two who save at once do not write into one file.
        let part = "\(path).\(UInt64.random(in: .min ... .max)).part"
        let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file(errno: errno, "\(part) could not be made") }
        do throws(TokenStoreError) {
            do {
                defer { _ = close(descriptor) }
                try write(bytes, to: descriptor, part)
            }
            guard rename(part, path) == 0 else { throw .file(errno: errno, "\(path) could not be replaced") }
        } catch {
            _ = unlink(part)
            throw error
        }
        try syncDirectory()
    }

    /// Removes the file; harmless if there is none.
    public func delete() throws(TokenStoreError) {
        if unlink(path) == 0 { return try syncDirectory() }
        guard errno == ENOENT else { throw .file(errno: errno, "\(path) could not be deleted") }
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
        guard fsync(descriptor) == 0 else { throw .file(errno: errno, "\(part) could not be put on disk") }
    }

    /// Puts the name on disk, too.
    ///
    /// Some file systems cannot, and then the name comes there by itself.
    private func syncDirectory() throws(TokenStoreError) {
        let names = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let directory = names.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : names
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file(errno: errno, "\(directory) could not be opened") }
        defer { _ = close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw .file(errno: errno, "\(directory) could not be put on disk") }
    }
}
