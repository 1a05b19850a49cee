import Foundation
import NIOCore

/// The file of the Unix domain socket on which this server listens.
struct UnixSocketFile: Sendable {
    /// Why the file could not be created.
    struct Problem: Error, CustomStringConvertible { let description: String }

    /// The listening socket.
    let descriptor: Int32
    private let path: String
    /// Identifies the file: another server may have replaced it by the end.
    private let device: dev_t
    private let number: ino_t

    /// Creates the file; replaces one on which no server listens any more.
    ///
    /// - Throws: ``Problem`` if a server listens there, or the path is a file that is not a socket.
    static func claim(_ path: String, permissions: UInt16?, backlog: Int32) throws -> UnixSocketFile {
        let address = try SocketAddress(unixDomainSocketPath: path)
        try removeStale(path, address)
        let descriptor = try makeSocket()
        do {
            try address.withSockAddr { try check(bind(descriptor, $0, socklen_t($1))) }
        } catch {
            close(descriptor)
            throw error
        }
        do {
            // Before it listens, so that no client can connect earlier.
            if let permissions { try check(chmod(path, mode_t(permissions))) }
            var file = stat()
            try check(lstat(path, &file))
            try check(Foundation.listen(descriptor, backlog))
            return UnixSocketFile(descriptor: descriptor, path: path, device: file.st_dev, number: file.st_ino)
        } catch {
            unlink(path)
            close(descriptor)
            throw error
        }
    }

    /// Removes the file, unless it belongs to another server by now.
    ///
    /// Call it while the socket still listens, so that its inode number is in use.
    func remove() {
        var file = stat()
        if lstat(path, &file) == 0, file.st_dev == device, file.st_ino == number { unlink(path) }
    }

    private static func removeStale(_ path: String, _ address: SocketAddress) throws {
        var file = stat()
        guard lstat(path, &file) == 0 else { return }
        guard file.st_mode & S_IFMT == S_IFSOCK else { throw Problem(description: "there is a file that is not a socket") }
        let probe = try makeSocket()
        defer { close(probe) }
        if address.withSockAddr({ connect(probe, $0, socklen_t($1)) }) == 0 || errno == EAGAIN {
            throw Problem(description: "another server listens there")
        }
        switch errno {
        case ECONNREFUSED: try check(unlink(path))
        case ENOENT: break  // It is gone by now.
        default: throw Problem(description: "cannot check whether another server listens there: \(words(errno))")
        }
    }

    /// Creates a non-blocking socket, because connecting would wait if the backlog is full.
    private static func makeSocket() throws -> Int32 {
        #if canImport(Darwin) || canImport(Musl)
            let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        try check(descriptor)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return descriptor
    }

    private static func check(_ result: Int32) throws { if result < 0 { throw Problem(description: words(errno)) } }

    private static func words(_ code: Int32) -> String { String(cString: strerror(code)).lowercased() }
}
