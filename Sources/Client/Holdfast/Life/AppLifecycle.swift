#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
    public import SessionCore

    /// A source of the app's state from the system: in the background, in the foreground, about to end or to sleep.
    ///
    /// ```swift
    /// let socket = WebSocket("wss://example.com/feed") { $0.lifeSource = AppLifecycle() }
    /// ```
    /// With UIKit it asks the system for background time when the app leaves the foreground, so that `BackgroundPolicy` can finish the close
    /// handshake before the app is suspended. On a Mac an app continues to run when it is not in front, so only sleep, wake and
    /// termination count. An app extension has no application object: call ``WebSocket/notify(_:)-(AppLife.Input)`` there.
    public struct AppLifecycle: LifeSource {
        private let extraTime: Duration?

        /// Creates a source that asks for this much background time; nil: none.
        ///
        /// It has no effect on a Mac.
        public init(extraTime: Duration? = .seconds(20)) { self.extraTime = extraTime }

        /// Returns the changes of the app's state.
        public func updates() -> AsyncStream<AppLife.Input> {
            let presence = AppPresence(extraTime: extraTime)
            return AsyncStream { continuation in
                // SAFETY: ends with the stream that it feeds.
                let task = Task { @MainActor in
                    let shell = PresenceShell(presence, SystemBackgroundTime(), continuation)
                    shell.observeSystem()
                    // Runs until it is cancelled.
                    let (never, keep) = AsyncStream.makeStream(of: Never.self)
                    for await _ in never {}
                    keep.finish()
                    shell.end()
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        }
    }
#endif
