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
