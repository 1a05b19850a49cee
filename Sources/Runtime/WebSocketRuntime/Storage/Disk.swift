#if canImport(Darwin)
    import Darwin
    import Dispatch
#elseif canImport(Musl)
    @preconcurrency import Dispatch
    import Musl
#else
    @preconcurrency import Dispatch
    import Glibc
#endif

/// File operations that SQLite does not provide: renaming a complete file, and waiting until it is on disk.
package enum Disk {
    /// An error of the system, as given by `errno`.
    package struct Failure: Error, Hashable {
        /// The error number.
        package let number: Int32

        package init(number: Int32) { self.number = number }

        /// Whether the disk is full.
        package var isFull: Bool { number == ENOSPC }
        /// The error message.
        package var text: String { String(cString: strerror(number)) }
    }

    /// Whether the path is neither a file nor a directory, but a pipe, a socket or a device.
    package static func isSpecial(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// Renames a file once it is on disk, and waits until the new name is on disk too.
    package static func settle(_ path: String, as final: String) throws(Failure) {
        try move(path, to: final)
        try syncName(of: final)
    }

    /// Renames a file once it is on disk; after an error it still has its old name.
    package static func move(_ path: String, to final: String) throws(Failure) {
        try sync(path)
        guard rename(path, final) == 0 else { throw Failure(number: errno) }
    }

    /// Waits until a file's name is on disk.
    package static func syncName(of path: String) throws(Failure) {
        try sync(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".")
    }

    /// The number of free bytes on the disk of a file; nil if the system does not report it.
    package static func free(at path: String) -> Int64? {
        var figures = statvfs()
        guard statvfs(path, &figures) == 0 else { return nil }
        let (bytes, isTooMuch) = Int64(clamping: figures.f_bavail).multipliedReportingOverflow(by: Int64(clamping: figures.f_frsize))
        return isTooMuch ? .max : bytes
    }

    /// Waits until the contents of a file, or the names in a directory, are on disk.
    package static func sync(_ path: String) throws(Failure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(number: errno) }
        defer { _ = close(descriptor) }
        #if canImport(Darwin)
            // On Darwin, fsync leaves data in the drive's cache; not every file system supports F_FULLFSYNC.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw Failure(number: errno) }
    }
}

// Only the owner may read the data of rooms: other users of the machine can neither read the files nor hold their locks. Permissions are
// set on each file, because the process's umask is unknown and must not be changed. Files of other users are not used, because their
// owner can read and remove them.
extension Disk {
    /// Creates a directory for its owner only, and its parents with default permissions; an existing one stays as it is.
    ///
    /// - Returns: Whether it was created.
    @discardableResult package static func makeDirectory(_ path: String) throws(Failure) -> Bool {
        if mkdir(path, 0o700) == 0 {
            // The umask may have removed permissions.
            guard chmod(path, 0o700) == 0 else { throw Failure(number: errno) }
            return true
        }
        switch errno {
        case EEXIST: return false
        case ENOENT:
            let names = path.split(separator: "/", omittingEmptySubsequences: true)
            guard names.count > 1 else { throw Failure(number: ENOENT) }
            var above = path.hasPrefix("/") ? "" : "."
            for name in names.dropLast() {
                above += "/" + name
                guard mkdir(above, 0o777) == 0 || errno == EEXIST else { throw Failure(number: errno) }
            }
            guard mkdir(path, 0o700) == 0, chmod(path, 0o700) == 0 else { throw Failure(number: errno) }
            return true
        default: throw Failure(number: errno)
        }
    }

    /// A file or directory that other users can access, and whose permissions cannot be restricted.
    package struct UnsafeFile: Error, Hashable {
        /// The problem, and what to do about it.
        package let text: String
    }

    /// Creates an empty file that only its owner may use, before anything else opens it; an existing one of ours stays as it is.
    ///
    /// SQLite treats such a file as a new database, and gives its journals the same permissions.
    package static func makeFile(_ path: String) throws(Failure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            guard errno == EEXIST else { throw Failure(number: errno) }
            // Not opened: SQLite loses its locks on a file when the process closes it.
            do throws(UnsafeFile) { try checkOwner(path) } catch { throw Failure(number: EPERM) }
            return
        }
        defer { _ = close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else { throw Failure(number: errno) }
    }

    /// Opens one of our files for reading and writing, or creates one that only its owner may use.
    ///
    /// Links, pipes and files of other users are refused; opening never blocks.
    ///
    /// - Returns: The descriptor, which the caller must close.
    package static func openFile(_ path: String) throws(Failure) -> Int32 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(number: errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            fchmod(descriptor, 0o600) == 0
        else {
            _ = close(descriptor)
            throw Failure(number: EPERM)
        }
        return descriptor
    }

    /// Refuses a path that belongs to another user, or a link that another user created or that leads to another user's file.
    ///
    /// A missing file is accepted. Directories may belong to root, because root may have given us one, and can read everything anyway.
    package static func checkOwner(_ path: String) throws(UnsafeFile) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        let isLink = status.st_mode & S_IFMT == S_IFLNK
        let linker = status.st_uid
        if isLink, linker != geteuid(), linker != 0 { throw exposure(path, of: linker) }
        if isLink, stat(path, &status) != 0 { return }
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        guard status.st_uid == geteuid() || (isDirectory && status.st_uid == 0) else { throw exposure(path, of: status.st_uid) }
    }

    private static func exposure(_ path: String, of owner: uid_t) -> UnsafeFile {
        let owners = "uid \(owner), and this is \(geteuid())"
        return UnsafeFile(text: "\(path) belongs to another user (\(owners)): use a directory of your own, or change its owner")
    }

    /// Returns the warning for a directory that others can access and that stays so because it is shared; nil if others have no access.
    ///
    /// - Parameter stranger: The other contents of the directory.
    package static func warning(onShared path: String, with stranger: String) throws(UnsafeFile) -> String? {
        try checkOwner(path)
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { return nil }
        let mode = "0" + String(status.st_mode & 0o7777, radix: 8)
        return "\(path) is open to others (\(mode)) and holds \(stranger) too, so it is left open: others can see only our files' names"
    }

    /// Removes the permissions of others from files and directories; missing ones are ignored.
    ///
    /// A directory that is meant to be shared, such as `/tmp`, stays as it is, and so does one of root that only root could restrict.
    ///
    /// - Returns: A warning for the operator for each path that others could access.
    /// - Throws: An error for a path that belongs to another user, or whose permissions cannot be changed.
    package static func closeToOthers(_ paths: [String]) throws(UnsafeFile) -> [String] {
        var said: [String] = []
        for path in paths {
            try checkOwner(path)
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { continue }
            let mode = "0" + String(status.st_mode & 0o7777, radix: 8)
            if status.st_mode & S_IFMT == S_IFDIR, status.st_mode & S_ISVTX != 0 {
                said.append("\(path) is a shared directory (\(mode)): others can see that files exist, but not what they contain")
            } else if chmod(path, status.st_mode & 0o700) == 0 {
                said.append("\(path) was open to others (\(mode)): only its owner may use it now")
            } else {
                let text = "\(path) is open to others (\(mode)), and its permissions cannot be changed: \(Failure(number: errno).text)"
                guard status.st_uid != geteuid() else { throw UnsafeFile(text: text) }
                said.append(text)
            }
        }
        return said
    }
}

/// A lock file that one holder at a time can lock, across processes; the system releases it when the process ends in any way.
package final class FileLock: Sendable {
    /// The reason why the lock was not taken.
    package enum Failure: Error, Hashable {
        /// Another holder has the lock.
        case held
        /// The file cannot be opened or locked; with `errno` of the system.
        case system(Int32)
    }
    private let descriptor: Int32

    /// Locks a file, which is created if it does not exist; a link is not followed.
    package init(_ path: String) throws(Failure) {
        // A child process must not keep the lock.
        descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            // All properties are initialised, so deinit closes the descriptor; closing it twice could close a file of another thread.
            throw reason == EWOULDBLOCK ? .held : .system(reason)
        }
    }

    /// Releases the lock.
    package func release() { _ = flock(descriptor, LOCK_UN) }

    deinit { _ = close(descriptor) }
}

/// The executor of an actor that blocks for the disk: a queue of its own, so that no other work waits.
package final class BlockingQueue: SerialExecutor {
    private let queue: DispatchQueue

    /// Creates a queue with a name for debuggers.
    package init(_ name: String) { queue = DispatchQueue(label: name) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Runs a closure on the queue, and waits for it and for all earlier jobs; must not be called on the queue.
    package func sync(_ body: () -> Void) { queue.sync(execute: body) }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
