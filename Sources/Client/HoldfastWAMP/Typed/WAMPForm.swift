import CodecCore
import HoldfastProtocols
public import WAMPCore

/// The mapping of a Swift value to the arguments of a call, a result, or an event.
///
/// | Form | Content of the message |
/// |---|---|
/// | ``positional()`` | each part of a tuple at its index; a single value at the first; nothing for `Void` |
/// | ``object`` | the value as the only argument |
/// | ``list`` | a value that encodes itself as an array: its items are the arguments |
/// | ``keywords`` | a value with keys: they are the keyword arguments |
/// | ``raw`` | the arguments themselves |
///
/// In all forms, extra arguments are ignored, and arguments missing at the end are nil if the type allows it.
public struct WAMPForm<Content>: Sendable {
    /// Encodes a value, preferably in the serialization in which it will be sent.
    let encode: @Sendable (Content, WAMPSerialization?) throws -> WAMPArguments
    let decode: @Sendable (WAMPArguments) throws -> Content

    init(
        _ encode: @escaping @Sendable (Content, WAMPSerialization?) throws -> WAMPArguments,
        decode: @escaping @Sendable (WAMPArguments) throws -> Content
    ) {
        (self.encode, self.decode) = (encode, decode)
    }

    /// Creates a custom form.
    ///
    /// - Parameters:
    ///   - encode: Converts a value to arguments.
    ///   - decode: Converts arguments to a value.
    public init(
        encode: @escaping @Sendable (Content) throws -> WAMPArguments, decode: @escaping @Sendable (WAMPArguments) throws -> Content
    ) {
        self.init({ content, _ in try encode(content) }, decode: decode)
    }

    /// Each part of a tuple at its index; a single value at the first, and nothing for `Void`.
    public static func positional<each Part: Codable & Sendable>() -> WAMPForm where Content == (repeat each Part) {
        var arePlain = true
        repeat arePlain = arePlain && isPlain((each Part).self)
        return WAMPForm { content, serialization in
            var plain = PlainArguments()
            repeat plain.append(each content)
            if plain.isPlain { return WAMPArguments(plain.list) }
            return try ArgumentsCoding.list(PositionalParts(parts: (repeat each content)), serialization)
        } decode: { [arePlain] arguments in
            if arePlain, var items = try? PlainItems(arguments), let parts = try? (repeat items.next((each Part).self)) { return parts }
            return try ArgumentsCoding.value(PositionalParts<repeat each Part>.self, ofListIn: arguments).parts
        }
    }
}

extension WAMPForm where Content: Codable & Sendable {
    /// The value as the only argument.
    public static var object: WAMPForm { positional() }

    /// A value that encodes itself as an array: its items are the arguments.
    ///
    /// The value decodes the items one after the other from an unkeyed container, each as the type that it expects.
    public static var list: WAMPForm {
        WAMPForm {
            try ArgumentsCoding.list($0, $1)
        } decode: {
            try ArgumentsCoding.value(Content.self, ofListIn: $0)
        }
    }

    /// A value with keys: they are the keyword arguments.
    public static var keywords: WAMPForm {
        WAMPForm {
            try ArgumentsCoding.keywords($0, $1)
        } decode: {
            try ArgumentsCoding.value(Content.self, ofKeywordsIn: $0)
        }
    }
}

extension WAMPForm where Content == WAMPArguments {
    /// The arguments themselves.
    public static var raw: WAMPForm { WAMPForm(encode: { $0 }, decode: { $0 }) }
}

/// A typed procedure: its URI, its input and its output.
///
/// ```swift
/// enum API {
///     static let add = Procedure<(Int, Int), Int>("com.app.add")
///     static let find = Procedure<Query, [User]>("com.app.find", input: .keywords, output: .object)
/// }
/// ```
public struct Procedure<Input, Output>: Sendable {
    /// The URI; for a callee it may also be a pattern.
    public let uri: String
    /// The form of the input in the message.
    public let input: WAMPForm<Input>
    /// The form of the output in the message.
    public let output: WAMPForm<Output>

    /// Creates a procedure with the given forms of its input and output.
    public init(_ uri: String, input: WAMPForm<Input>, output: WAMPForm<Output>) {
        (self.uri, self.input, self.output) = (uri, input, output)
    }

    /// Creates a procedure with positional arguments and results.
    public init<each Argument: Codable & Sendable, each Result: Codable & Sendable>(_ uri: String)
    where Input == (repeat each Argument), Output == (repeat each Result) {
        self.init(uri, input: .positional(), output: .positional())
    }

    /// Creates a procedure with arguments in the given form, and positional results.
    public init<each Result: Codable & Sendable>(_ uri: String, input: WAMPForm<Input>) where Output == (repeat each Result) {
        self.init(uri, input: input, output: .positional())
    }

    /// Creates a procedure with positional arguments, and results in the given form.
    public init<each Argument: Codable & Sendable>(_ uri: String, output: WAMPForm<Output>) where Input == (repeat each Argument) {
        self.init(uri, input: .positional(), output: output)
    }
}

extension Procedure where Input == WAMPArguments, Output == WAMPArguments {
    /// Creates an untyped procedure.
    public static func raw(_ uri: String) -> Procedure { Procedure(uri, input: .raw, output: .raw) }
}

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
