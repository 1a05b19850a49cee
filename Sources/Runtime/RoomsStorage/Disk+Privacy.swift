#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

// What rooms hold is for their owner's eyes: other users of the machine can neither read it nor hold its locks. Rights are set on each file,
// for the process's umask may be any, and is not ours to change.
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

    /// Makes an empty file that only its owner may use, before anybody else opens it; what is there stays as it is.
    ///
    /// SQLite takes such a file for a new one, and gives its journals the same rights.
    package static func makeFile(_ path: String) throws(Failure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return }
            throw Failure(number: errno)
        }
        defer { _ = close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else { throw Failure(number: errno) }
    }

    /// The sentence for a directory that is open to others and is left so, for it is not ours alone; nil if it is closed.
    ///
    /// - Parameter stranger: What lies in it beside our files.
    package static func remark(onShared path: String, with stranger: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { return nil }
        let mode = "0" + String(status.st_mode & 0o7777, radix: 8)
        return "\(path) is open to others (\(mode)) and holds \(stranger) too, so it is left open: others can see our files' names, no more"
    }

    /// Takes from others what they may do with files and directories; what is not there does not count.
    ///
    /// A directory that is made for many, as `/tmp` is, stays as it is.
    ///
    /// - Returns: A sentence for each that was open to others, to be told to whoever runs this.
    package static func closeToOthers(_ paths: [String]) -> [String] {
        paths.compactMap { path in
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { return nil }
            let mode = "0" + String(status.st_mode & 0o7777, radix: 8)
            if status.st_mode & S_IFMT == S_IFDIR, status.st_mode & S_ISVTX != 0 {
                return "\(path) is a directory for everybody (\(mode)): others can see that there is something, and not what"
            }
            guard chmod(path, status.st_mode & 0o700) == 0 else {
                return "\(path) is open to others (\(mode)), and cannot be closed: \(Failure(number: errno).text)"
            }
            return "\(path) was open to others (\(mode)): only its owner may use it now"
        }
    }
}
