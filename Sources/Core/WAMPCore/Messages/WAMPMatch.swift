/// How the URI of a subscription or registration is compared with that of a publication or call.
public enum WAMPMatch: String, Hashable, Sendable, CaseIterable {
    /// They are the same.
    case exact
    /// It begins like this: `com.app.` matches `com.app.chat`.
    case prefix
    /// Components left empty stand for any: `com..created` matches `com.user.created`.
    case wildcard
}
