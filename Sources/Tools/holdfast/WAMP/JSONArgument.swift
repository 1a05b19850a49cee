import ArgumentParser
import CodecCore

/// A value on the command line: JSON, or what is none of it as the text that it is.
///
/// So `7`, `true`, `[1,2]` and `{"a":1}` are what they look like, `hello` is a text, and `"7"` with its quotes is one, too.
struct JSONArgument: Hashable, Sendable, ExpressibleByArgument {
    let value: Value

    init(argument: String) { value = Value(jsonText: argument) ?? .text(argument) }
}

/// A value with its name on the command line: `name=value`, the value as ``JSONArgument`` reads it.
struct KeywordArgument: Hashable, Sendable, ExpressibleByArgument {
    let name: String
    let value: Value

    /// Reads a name and its value; nil without an `=`, or without a name before it.
    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else { return nil }
        name = String(argument[..<equals])
        value = JSONArgument(argument: String(argument[argument.index(after: equals)...])).value
    }
}
