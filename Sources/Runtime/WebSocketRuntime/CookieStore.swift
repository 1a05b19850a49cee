public import WebSocketCore

/// Where connections find cookies and keep them: those that were given this one, and no others.
///
/// Copies of a configuration share the store that they hold. It lives in memory; an app that wants the cookies again after its next start
/// stores ``jar``'s, which are `Codable`, somewhere as safe as they are secret.
public final class CookieStore: Sendable {
    private let box: LockedValue<CookieJar>
    private let onChange: (@Sendable (CookieStore) -> Void)?

    /// A store.
    ///
    /// - Parameters:
    ///   - jar: What is in it to begin with.
    ///   - onChange: Called after an answer has changed what is in it; if two come at once, the last call sees both.
    public init(_ jar: CookieJar = CookieJar(), onChange: (@Sendable (CookieStore) -> Void)? = nil) {
        (box, self.onChange) = (LockedValue(jar), onChange)
    }

    /// What is in it now.
    public var jar: CookieJar { box.withLockedValue(\.self) }

    /// Changes what is in it: puts in what a login elsewhere has given, or takes all out.
    public func update<Result>(_ change: (inout CookieJar) -> Result) -> Result { box.withLockedValue { change(&$0) } }

    /// Takes in what an answer sets; `now` is in seconds since 1970.
    package func take(_ headers: HeaderFields, from url: WebSocketURL, at now: Int64) {
        let isChanged = box.withLockedValue { jar in
            let before = jar.cookies
            jar.take(headers, from: url, at: now)
            return jar.cookies != before
        }
        if isChanged { onChange?(self) }
    }
}
