#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
    public import SessionCore

    /// Tells a ``WebSocket`` what the system says of the app: in the background, in the foreground, about to end or to sleep.
    ///
    /// ```swift
    /// let socket = WebSocket("wss://example.com/feed") { $0.lifeSource = AppLifecycle() }
    /// ```
    /// With UIKit it asks the system for time when the app leaves, so that the close handshake of `BackgroundPolicy` is done before the
    /// app is suspended. On a Mac an app that is not in front goes on as ever; only sleep and its end count. An app extension has no
    /// application to ask: there, tell the socket by other means.
    public struct AppLifecycle: LifeSource {
        private let extraTime: Duration?

        /// A source that asks for so much time when the app leaves; nil: for none.
        ///
        /// On a Mac it needs none.
        public init(extraTime: Duration? = .seconds(20)) { self.extraTime = extraTime }

        /// What happens to the app.
        public func updates() -> AsyncStream<AppLife.Input> {
            let presence = AppPresence(extraTime: extraTime)
            return AsyncStream { continuation in
                // SAFETY: ends with the stream that it feeds.
                let task = Task { @MainActor in
                    let shell = PresenceShell(presence, SystemBackgroundTime(), continuation)
                    shell.observeSystem()
                    // Ends when cancelled, and never by itself.
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
