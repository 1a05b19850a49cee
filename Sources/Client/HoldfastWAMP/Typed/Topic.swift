public import WAMPCore

/// A typed topic: its URI, and the content of its events.
///
/// ```swift
/// enum API {
///     static let chat = Topic<ChatLine>("com.app.chat")
///     static let created = Topic<(Int, String)>("com.app..created", match: .wildcard)
/// }
/// ```
public struct Topic<Content>: Sendable {
    /// The URI, or the pattern.
    public let uri: String
    /// The match policy of the URI.
    ///
    /// Events cannot be published to a pattern.
    public let match: WAMPMatch
    /// The form of an event in the message.
    public let form: WAMPForm<Content>

    /// Creates a topic whose events have the given form.
    public init(_ uri: String, match: WAMPMatch = .exact, form: WAMPForm<Content>) {
        (self.uri, self.match, self.form) = (uri, match, form)
    }

    /// Creates a topic whose events are positional arguments: the parts of a tuple, or one value.
    public init<each Part: Codable & Sendable>(_ uri: String, match: WAMPMatch = .exact) where Content == (repeat each Part) {
        self.init(uri, match: match, form: .positional())
    }

    /// Returns a topic with another URI or pattern and the same type of events.
    public func matching(_ uri: String, _ match: WAMPMatch = .exact) -> Topic { Topic(uri, match: match, form: form) }
}

extension Topic where Content == WAMPArguments {
    /// Creates an untyped topic.
    public static func raw(_ uri: String, match: WAMPMatch = .exact) -> Topic { Topic(uri, match: match, form: .raw) }
}
