import CodecCore
public import WAMPCore

/// How a value of Swift lies in the arguments of a call, a result, or an event.
///
/// | Form | What lies in the message |
/// |---|---|
/// | ``positional()`` | each part of a tuple at its place; a lone value at the first; nothing for `Void` |
/// | ``object`` | the value as the only argument |
/// | ``list`` | a value that is written as an array: its items are the arguments |
/// | ``keywords`` | a value with keys: they are the keyword arguments |
/// | ``raw`` | the arguments themselves |
///
/// Whatever the form, more than was asked for is ignored, and what is missing at the end is nil where the type allows it.
public struct WAMPForm<Content>: Sendable {
    /// Makes the arguments of a value, at best in the serialization that they will be sent in.
    let encode: @Sendable (Content, WAMPSerialization?) throws -> WAMPArguments
    let decode: @Sendable (WAMPArguments) throws -> Content

    init(
        _ encode: @escaping @Sendable (Content, WAMPSerialization?) throws -> WAMPArguments,
        decode: @escaping @Sendable (WAMPArguments) throws -> Content
    ) {
        (self.encode, self.decode) = (encode, decode)
    }

    /// A form of your own.
    ///
    /// - Parameters:
    ///   - encode: Makes the arguments of a value.
    ///   - decode: Makes the value of arguments.
    public init(
        encode: @escaping @Sendable (Content) throws -> WAMPArguments, decode: @escaping @Sendable (WAMPArguments) throws -> Content
    ) {
        self.init({ content, _ in try encode(content) }, decode: decode)
    }

    /// Each part of a tuple at its place; a lone value at the first, and nothing for `Void`.
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

    /// A value that is written as an array: its items are the arguments.
    ///
    /// It reads them one after the other from an unkeyed container, each as what it knows it to be.
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
