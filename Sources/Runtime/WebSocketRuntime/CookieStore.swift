public import WebSocketCore

/// A store of cookies for the connections that are configured with it.
///
/// Copies of a configuration share their store. The store is in memory; an app that needs the cookies after its next start must save
/// those of ``jar``, which are `Codable`, in a place that is safe enough for secrets.
public final class CookieStore: Sendable {
    private let box: LockedValue<CookieJar>
    private let onChange: (@Sendable (CookieStore) -> Void)?

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - jar: The initial cookies.
    ///   - onChange: Called after a response has changed the cookies; if two responses arrive at once, the last call sees both changes.
    public init(_ jar: CookieJar = CookieJar(), onChange: (@Sendable (CookieStore) -> Void)? = nil) {
        (box, self.onChange) = (LockedValue(jar), onChange)
    }

    /// The current cookies.
    public var jar: CookieJar { box.withLockedValue({ $0 }) }

    /// Changes the cookies, for example to add those of a login elsewhere, or to remove all.
    public func update<Result>(_ change: (inout CookieJar) -> Result) -> Result { box.withLockedValue { change(&$0) } }

    /// Stores the cookies that a response sets; `now` is in seconds since 1970.
    package func take(_ headers: HeaderFields, from url: WebSocketURL, at now: Int64) {
        let isChanged = box.withLockedValue { jar in
            let before = jar.cookies
            jar.take(headers, from: url, at: now)
            return jar.cookies != before
        }
        if isChanged { onChange?(self) }
    }
}
