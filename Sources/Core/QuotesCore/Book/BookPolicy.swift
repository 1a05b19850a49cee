/// How patient a client of quotes is.
package struct BookPolicy: Hashable, Sendable {
    /// How long nothing of an unfinished snapshot may come, nor a welcome, before the connection is given up.
    package var patience: Duration
    /// How long nothing at all may come: a server that has nothing to tell says so every five seconds.
    package var silence: Duration
    /// The least time from one resync to the next: a lossy server is not asked for everything at every gap.
    package var resyncSpacing: Duration
    /// How many messages of one connection may be garbage before it is closed.
    package var garbageLimit: Int

    package init(
        patience: Duration = .seconds(10), silence: Duration = .seconds(15), resyncSpacing: Duration = .milliseconds(200),
        garbageLimit: Int = 3
    ) {
        (self.patience, self.silence, self.resyncSpacing, self.garbageLimit) = (patience, silence, resyncSpacing, garbageLimit)
    }
}
