public import WAMPCore

/// A procedure, declared once: its URI, what it takes, and what it gives.
///
/// ```swift
/// enum API {
///     static let add = Procedure<(Int, Int), Int>("com.app.add")
///     static let find = Procedure<Query, [User]>("com.app.find", input: .keywords, output: .object)
/// }
/// ```
public struct Procedure<Input, Output>: Sendable {
    /// Its URI; as a callee, also a pattern.
    public let uri: String
    /// How the input lies in the message.
    public let input: WAMPForm<Input>
    /// How the output lies in the message.
    public let output: WAMPForm<Output>

    /// A procedure whose input and output lie in messages in these forms.
    public init(_ uri: String, input: WAMPForm<Input>, output: WAMPForm<Output>) {
        (self.uri, self.input, self.output) = (uri, input, output)
    }

    /// A procedure with arguments and results by their places.
    public init<each Argument: Codable & Sendable, each Result: Codable & Sendable>(_ uri: String)
    where Input == (repeat each Argument), Output == (repeat each Result) {
        self.init(uri, input: .positional(), output: .positional())
    }

    /// A procedure with arguments in a form, and results by their places.
    public init<each Result: Codable & Sendable>(_ uri: String, input: WAMPForm<Input>) where Output == (repeat each Result) {
        self.init(uri, input: input, output: .positional())
    }

    /// A procedure with arguments by their places, and results in a form.
    public init<each Argument: Codable & Sendable>(_ uri: String, output: WAMPForm<Output>) where Input == (repeat each Argument) {
        self.init(uri, input: .positional(), output: output)
    }
}

extension Procedure where Input == WAMPArguments, Output == WAMPArguments {
    /// A procedure of which nothing is known.
    public static func raw(_ uri: String) -> Procedure { Procedure(uri, input: .raw, output: .raw) }
}
