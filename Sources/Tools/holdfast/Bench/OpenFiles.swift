import Foundation

/// How many files, and so how many connections, this process may have open.
enum OpenFiles {
    /// Besides the connections: event loops, terminal, libraries; what a server keeps free, and those it tells that it is full.
    private static let others = 384

    /// Raises this process's own limit, as far as it may, to hold so many connections; the number that fits.
    static func makeRoom(forConnections count: Int) -> Int {
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return count }
        let wanted = rlim_t(count + others)
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = min(wanted, limit.rlim_max)
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return max(min(count, Int(clamping: limit.rlim_cur) - others), 1)
    }

    /// How many connections one address may have of all: as many as it is allowed, but never more than half.
    static func share(ofConnections all: Int, allowed: Int = .max) -> Int { max(min(allowed, all / 2), 1) }
}
