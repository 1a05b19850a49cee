#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

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
