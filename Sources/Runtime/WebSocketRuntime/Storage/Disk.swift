#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What SQLite does not do for files: to give one that is whole its name, and to wait until it is on disk.
package enum Disk {
    /// Why it did not work, as the system says with `errno`.
    package struct Failure: Error, Hashable {
        /// The number.
        package let number: Int32

        package init(number: Int32) { self.number = number }

        /// Whether the disk is full.
        package var isFull: Bool { number == ENOSPC }
        /// For people.
        package var text: String { String(cString: strerror(number)) }
    }

    /// Whether something is there that is neither a file nor a directory: a pipe, a socket or a device.
    package static func isSpecial(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// Gives a file another name when it is on disk, and waits until that is on disk too.
    package static func settle(_ path: String, as final: String) throws(Failure) {
        try move(path, to: final)
        try syncName(of: final)
    }

    /// Gives a file another name when it is on disk; after an error it still has the one before.
    package static func move(_ path: String, to final: String) throws(Failure) {
        try sync(path)
        guard rename(path, final) == 0 else { throw Failure(number: errno) }
    }

    /// Waits until a file's name is on disk.
    package static func syncName(of path: String) throws(Failure) {
        try sync(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".")
    }

    /// How many bytes are free for us where a file lies; nil if the system does not say.
    package static func free(at path: String) -> Int64? {
        var figures = statvfs()
        guard statvfs(path, &figures) == 0 else { return nil }
        let (bytes, isTooMuch) = Int64(clamping: figures.f_bavail).multipliedReportingOverflow(by: Int64(clamping: figures.f_frsize))
        return isTooMuch ? .max : bytes
    }

    /// Waits until what was written to a file, or the names in a directory, are on disk.
    package static func sync(_ path: String) throws(Failure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(number: errno) }
        defer { _ = close(descriptor) }
        #if canImport(Darwin)
            // fsync leaves it in the drive's own cache there; not every file system knows better.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw Failure(number: errno) }
    }
}

// What rooms hold is for their owner's eyes: other users of the machine can neither read it nor hold its locks. Rights are set on each
// file, for the process's umask may be any, and is not ours to change. What another user has made is not used: its owner can read it, and
// take it away.
extension Disk {
    /// Makes a directory for its owner only, and those above it as the system makes them; one that is there stays as it is.
    ///
    /// - Returns: Whether it was made.
    @discardableResult package static func makeDirectory(_ path: String) throws(Failure) -> Bool {
        if mkdir(path, 0o700) == 0 {
            // The umask may have taken something away.
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

    /// Something is not for us alone, and cannot be made so.
    package struct Exposure: Error, Hashable {
        /// What it is, and what helps.
        package let text: String
    }

    /// Makes an empty file that only its owner may use, before anybody else opens it; one that is there and is ours stays as it is.
    ///
    /// SQLite takes such a file for a new one, and gives its journals the same rights.
    package static func makeFile(_ path: String) throws(Failure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            guard errno == EEXIST else { throw Failure(number: errno) }
            // Not opened: SQLite loses its locks on a file that the process closes.
            do throws(Exposure) { try checkOwner(path) } catch { throw Failure(number: EPERM) }
            return
        }
        defer { _ = close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else { throw Failure(number: errno) }
    }

    /// Opens a file of ours for reading and writing, or makes one that only its owner may use.
    ///
    /// What is a link, a pipe or another user's is refused, and not waited for.
    ///
    /// - Returns: Its descriptor, which is the caller's to close.
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

    /// Refuses what belongs to another user, or is a link that another user made or that leads to what is another's.
    ///
    /// What is not there does not count. Directories may be root's, for root has given us one, and can read all there is.
    package static func checkOwner(_ path: String) throws(Exposure) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        let isLink = status.st_mode & S_IFMT == S_IFLNK
        let linker = status.st_uid
        if isLink, linker != geteuid(), linker != 0 { throw exposure(path, of: linker) }
        if isLink, stat(path, &status) != 0 { return }
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        guard status.st_uid == geteuid() || (isDirectory && status.st_uid == 0) else { throw exposure(path, of: status.st_uid) }
    }

    private static func exposure(_ path: String, of owner: uid_t) -> Exposure {
        let owners = "uid \(owner), and this is \(geteuid())"
        return Exposure(text: "\(path) belongs to another user (\(owners)): take a directory of your own, or change its owner")
    }

    /// The sentence for a directory that is open to others and is left so, for it is not ours alone; nil if it is closed.
    ///
    /// - Parameter stranger: What lies in it beside our files.
    package static func remark(onShared path: String, with stranger: String) throws(Exposure) -> String? {
        try checkOwner(path)
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { return nil }
        let mode = "0" + String(status.st_mode & 0o7777, radix: 8)
        return "\(path) is open to others (\(mode)) and holds \(stranger) too, so it is left open: others can see our files' names, no more"
    }

    /// Takes from others what they may do with files and directories; what is not there does not count.
    ///
    /// A directory that is made for many, as `/tmp` is, stays as it is, and so does one of root's that only root could close.
    ///
    /// - Returns: A sentence for each that was open to others, to be told to whoever runs this.
    /// - Throws: For what belongs to another user, or cannot be closed.
    package static func closeToOthers(_ paths: [String]) throws(Exposure) -> [String] {
        var said: [String] = []
        for path in paths {
            try checkOwner(path)
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { continue }
            let mode = "0" + String(status.st_mode & 0o7777, radix: 8)
            if status.st_mode & S_IFMT == S_IFDIR, status.st_mode & S_ISVTX != 0 {
                said.append("\(path) is a directory for everybody (\(mode)): others can see that there is something, and not what")
            } else if chmod(path, status.st_mode & 0o700) == 0 {
                said.append("\(path) was open to others (\(mode)): only its owner may use it now")
            } else {
                let text = "\(path) is open to others (\(mode)), and cannot be closed: \(Failure(number: errno).text)"
                guard status.st_uid != geteuid() else { throw Exposure(text: text) }
                said.append(text)
            }
        }
        return said
    }
}
