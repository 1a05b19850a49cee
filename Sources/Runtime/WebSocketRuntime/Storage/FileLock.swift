#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file that one process holds at a time, or one holder within it; the system lets go of it when the process ends, however it ends.
package final class FileLock: Sendable {
    /// Why a file is not held.
    package enum Failure: Error, Hashable {
        /// Somebody else holds it.
        case held
        /// It cannot be opened, as the system says with `errno`.
        case system(Int32)
    }
    private let descriptor: Int32

    /// Takes hold of a file, which is made if there is none; a link is not followed.
    package init(_ path: String) throws(Failure) {
        // A child process must not go on holding it.
        descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            // All is initialized, so that deinit closes it; twice would close what another thread has opened meanwhile.
            throw reason == EWOULDBLOCK ? .held : .system(reason)
        }
    }

    /// Lets go of it.
    package func release() { _ = flock(descriptor, LOCK_UN) }

    deinit { _ = close(descriptor) }
}
