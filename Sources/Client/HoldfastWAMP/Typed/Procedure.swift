public import WAMPCore

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
