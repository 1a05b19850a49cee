#if os(Linux)
    public import SessionCore

    /// Polls the network interfaces of a Linux machine every few seconds, and reports changes.
    ///
    /// `InterfaceWatch` decides what is reported and when. A poll is one system call and a read of `/proc/net/route`.
    public struct LinuxPathSource: PathSource {
        private let interval: Duration
        private let look: @Sendable () -> [NetworkInterface]

        /// Creates a source that polls at once and then after each `interval`, which is at least a tenth of a second.
        public init(every interval: Duration = .seconds(2)) { self.init(every: interval, look: NetworkInterface.present) }

        init(every interval: Duration, look: @escaping @Sendable () -> [NetworkInterface]) {
            (self.interval, self.look) = (max(interval, .milliseconds(100)), look)
        }

        /// Returns the network changes, starting with the present state.
        public func updates() -> AsyncStream<PathWatch.Input> {
            let (interval, look) = (interval, look)
            return AsyncStream { continuation in
                // SAFETY: ends with the stream that it feeds.
                let task = Task {
                    var watch = InterfaceWatch()
                    repeat {
                        for update in watch.look(at: look()) { continuation.yield(update) }
                    } while (try? await Task.sleep(for: interval)) != nil
                    continuation.finish()
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        }
    }
#endif
