#if os(Linux)
    public import SessionCore

    /// Looks at the interfaces of a Linux machine every few seconds, and tells what happened to the network.
    ///
    /// What is told, and when, is in `InterfaceWatch`. A look is one call of the system and the reading of `/proc/net/route`.
    public struct LinuxPathSource: PathSource {
        private let interval: Duration
        private let look: @Sendable () -> [NetworkInterface]

        /// A source that looks at once and then after each `interval`, which is no less than a tenth of a second.
        public init(every interval: Duration = .seconds(2)) { self.init(every: interval, look: NetworkInterface.present) }

        init(every interval: Duration, look: @escaping @Sendable () -> [NetworkInterface]) {
            (self.interval, self.look) = (max(interval, .milliseconds(100)), look)
        }

        /// What happens to the network, beginning with how it is.
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
