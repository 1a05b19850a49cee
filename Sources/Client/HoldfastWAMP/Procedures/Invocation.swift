public import CodecCore
public import WAMPCore

/// A call that a handler answers: who calls, and the way to answer in parts.
public struct Invocation: Sendable {
    let shell: WAMPShell
    let handle: ClientHandle
    let input: CallMailbox?

    /// The procedure that is called; of a registration for a pattern, the one that matched.
    public let uri: String
    /// What the router says about the call.
    public let details: ValueMap
    /// What came with it, not yet understood.
    public let arguments: WAMPArguments

    init(shell: WAMPShell, handle: ClientHandle, uri: String, details: ValueMap, arguments: WAMPArguments, input: CallMailbox?) {
        (self.shell, self.handle, self.uri, self.details) = (shell, handle, uri, details)
        (self.arguments, self.input) = (arguments, input)
    }

    /// The session that calls, if the router says so.
    public var caller: WAMPID? { details["caller"]?.int.flatMap { WAMPID(exactly: $0) } }
    /// Who calls, if the router says so.
    public var callerAuthID: String? { details["caller_authid"]?.string }
    /// As what the caller has joined, if the router says so.
    public var callerAuthRole: String? { details["caller_authrole"]?.string }
    /// Whether the caller wants parts of the result as they come; otherwise `progress` sends nothing.
    public var wantsProgress: Bool { details["receive_progress"]?.bool ?? false }
    /// How long the caller waits, if the router says so.
    public var timeout: Duration? { details["timeout"]?.int.flatMap { $0 > 0 ? .milliseconds($0) : nil } }
    /// Whether more input follows; see ``parts``.
    public var isInParts: Bool { details["progress"]?.bool ?? false }

    /// Sends values by their places as a part of the result; waits while the connection takes nothing.
    public func progress<each Part: Codable & Sendable>(_ parts: repeat each Part) async throws(WAMPError) {
        let form = WAMPForm<(repeat each Part)>.positional()
        let arguments: WAMPArguments
        do { arguments = try form.encode((repeat each parts), shell.serialization) } catch { throw .unencodable(error, "YIELD \(uri)") }
        try await progress(arguments)
    }

    /// Sends a part of the result; waits while the connection takes nothing.
    public func progress(_ arguments: WAMPArguments) async throws(WAMPError) {
        guard wantsProgress else { return }
        try await shell.yield(handle, arguments, "YIELD \(uri)")
    }

    /// The parts of the input after the first, if the caller sends it in parts; it ends after the last.
    public var parts: InvocationParts { InvocationParts(input: input) }
}

/// The parts of an invocation's input after the first; see ``Invocation/parts``.
public struct InvocationParts: AsyncSequence, Sendable {
    /// A part of the input.
    public typealias Element = WAMPArguments
    /// The sequence never fails.
    public typealias Failure = Never
    let input: CallMailbox?

    /// Starts to take parts.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(input: input) }

    /// Takes parts one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let input: CallMailbox?

        /// Waits for the next part; nil after the last, or when the task is cancelled.
        public mutating func next() async -> WAMPArguments? { await next(isolation: nil) }

        /// Waits for the next part; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> WAMPArguments? {
            (try? await input?.next())?.arguments
        }
    }
}

/// What the handler of a procedure throws to answer with an error of its own.
///
/// ```swift
/// throw WAMPFailure("com.app.error.sold_out", ["nothing is left"], keywords: ["until": "Monday"])
/// ```
public struct WAMPFailure: Error, Sendable {
    /// The URI of the error.
    public let uri: String
    /// What goes with it.
    public let arguments: WAMPArguments

    /// An error with its arguments.
    public init(_ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap()) {
        self.init(uri, WAMPArguments(list, keywords: keywords))
    }

    /// An error with its arguments.
    public init(_ uri: String, _ arguments: WAMPArguments) { (self.uri, self.arguments) = (uri, arguments) }

    /// What the caller gets to know of an error that a handler threw.
    init(of error: any Error, _ others: (any Error) -> WAMPFailure) {
        switch error {
        case let failure as WAMPFailure: self = failure
        // A handler that calls others, and does not care, passes on what they say.
        case let error as WAMPError where error.code == .refused: self.init(error.uri ?? WAMPURI.Error.runtimeError, error.arguments)
        case is CancellationError: self.init(WAMPURI.Error.canceled)
        case let error as WAMPError where error.code == .cancelled: self.init(WAMPURI.Error.canceled)
        default: self = others(error)
        }
    }
}
