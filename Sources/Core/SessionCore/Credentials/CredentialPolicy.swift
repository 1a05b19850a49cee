/// When a ``CredentialKeeper`` asks for a fresh credential, and for how long it waits.
public struct CredentialPolicy: Hashable, Sendable {
    /// How long before a credential expires the next one is fetched; zero: only when an attempt needs it.
    ///
    /// At most a tenth of the credential's life, so that short-lived ones are not fetched over and over.
    public var refreshAhead: Duration
    /// How long the provider may take for one fetch.
    public var timeout: Duration

    /// A policy; by default it looks 30 s ahead and waits 30 s for the provider.
    public init(refreshAhead: Duration = .seconds(30), timeout: Duration = .seconds(30)) {
        (self.refreshAhead, self.timeout) = (refreshAhead, timeout)
    }
}
