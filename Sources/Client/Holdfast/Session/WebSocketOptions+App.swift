extension WebSocketOptions {
    /// The defaults, and ``followSystem()``: for the app that people see.
    ///
    /// ```swift
    /// let socket = WebSocket("wss://example.com/feed") { $0 = .app }
    /// ```
    public static var app: WebSocketOptions {
        var options = WebSocketOptions()
        options.followSystem()
        return options
    }

    /// Follows what the system tells of the network and of the app, with ``pathSource`` and ``lifeSource``.
    ///
    /// On Apple platforms these are `NetworkPathMonitor` and `AppLifecycle`: no attempt without a network, an attempt at once when it is
    /// back, a close in the background as ``background`` says, and an attempt at once in the foreground. On Linux it is `LinuxPathSource`, and
    /// nothing tells of the app. Not for an app extension, which has no application to ask: there, set ``pathSource`` alone.
    ///
    /// It changes nothing else, so it suits `Rooms`, `QuoteFeed` and `WAMPClient`, whose options have more than the defaults.
    public mutating func followSystem() { (pathSource, lifeSource) = (SystemSources.path, SystemSources.life) }
}
