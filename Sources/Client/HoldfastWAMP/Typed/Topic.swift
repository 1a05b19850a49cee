public import WAMPCore

/// A topic, declared once: its URI, and what its events are.
///
/// ```swift
/// enum API {
///     static let chat = Topic<ChatLine>("com.app.chat")
///     static let created = Topic<(Int, String)>("com.app..created", match: .wildcard)
/// }
/// ```
public struct Topic<Content>: Sendable {
    /// Its URI, or the pattern.
    public let uri: String
    /// How the URI is compared with that of a publication.
    ///
    /// Nothing can be published to a pattern.
    public let match: WAMPMatch
    /// How an event lies in the message.
    public let form: WAMPForm<Content>

    /// A topic whose events lie in messages in a form.
    public init(_ uri: String, match: WAMPMatch = .exact, form: WAMPForm<Content>) {
        (self.uri, self.match, self.form) = (uri, match, form)
    }

    /// A topic whose events are arguments by their places: the parts of a tuple, or one value.
    public init<each Part: Codable & Sendable>(_ uri: String, match: WAMPMatch = .exact) where Content == (repeat each Part) {
        self.init(uri, match: match, form: .positional())
    }

    /// The topics under this one, or the pattern, with the same events.
    public func matching(_ uri: String, _ match: WAMPMatch = .exact) -> Topic { Topic(uri, match: match, form: form) }
}

extension Topic where Content == WAMPArguments {
    /// A topic of which nothing is known.
    public static func raw(_ uri: String, match: WAMPMatch = .exact) -> Topic { Topic(uri, match: match, form: .raw) }
}
