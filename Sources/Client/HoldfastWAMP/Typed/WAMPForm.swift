import CodecCore
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
