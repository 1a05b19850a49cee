public import SessionCore

/// A source of the app's state for a ``WebSocket``; see ``WebSocketOptions/lifeSource``.
///
/// Its updates have the same effect as calls of ``WebSocket/notify(_:)-(AppLife.Input)``.
public protocol LifeSource: Sendable {
    /// Returns the changes of the app's state from now on; if the app is already in the background, the first update says so.
    ///
    /// Each socket calls this once, and releases the stream when it ends.
    func updates() -> AsyncStream<AppLife.Input>
}

/// The sources of network and app state on this system.
enum SystemSources {
    /// The source of network changes; nil if the platform has none.
    static var path: (any PathSource)? {
        #if canImport(Network)
            NetworkPathMonitor()
        #elseif os(Linux)
            LinuxPathSource()
        #else
            nil
        #endif
    }

    /// The source of the app's state; nil on platforms where programs run regardless of it.
    static var life: (any LifeSource)? {
        #if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
            AppLifecycle()
        #else
            nil
        #endif
    }
}
