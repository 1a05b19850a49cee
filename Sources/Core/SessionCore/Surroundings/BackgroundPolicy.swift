/// What a session does about its connection while the app is in the background.
public enum BackgroundPolicy: Hashable, Sendable {
    /// It goes on as in the foreground, for as long as the system lets the app run.
    case keep
    /// It ends when the app has been in the background for this long, and comes back with the foreground; zero: at once.
    ///
    /// iOS suspends an app about 5 s after it left the foreground, unless it asked for more time: leave some for the close handshake.
    case close(after: Duration)
}
