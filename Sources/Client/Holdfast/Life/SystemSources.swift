/// The sources of news that the system has.
enum SystemSources {
    /// What tells of the network; nil where nothing is known of it.
    static var path: (any PathSource)? {
        #if canImport(Network)
            NetworkPathMonitor()
        #elseif os(Linux)
            LinuxPathSource()
        #else
            nil
        #endif
    }

    /// What tells of the app; nil where programs run on whether somebody looks or not.
    static var life: (any LifeSource)? {
        #if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
            AppLifecycle()
        #else
            nil
        #endif
    }
}
