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
