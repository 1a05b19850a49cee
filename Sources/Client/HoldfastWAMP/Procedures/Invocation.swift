public import CodecCore
public import WAMPCore

/// A call that a handler answers: the caller's details, and methods to send the result in parts.
public struct Invocation: Sendable {
    let shell: WAMPShell
    let handle: ClientHandle
    let input: CallMailbox?

    /// The called procedure; for a registration of a pattern, the URI that matched.
    public let uri: String
    /// The details of the call, as the router reports them.
    public let details: ValueMap
    /// The arguments of the call, not decoded yet.
    public let arguments: WAMPArguments

    init(shell: WAMPShell, handle: ClientHandle, uri: String, details: ValueMap, arguments: WAMPArguments, input: CallMailbox?) {
        (self.shell, self.handle, self.uri, self.details) = (shell, handle, uri, details)
        (self.arguments, self.input) = (arguments, input)
    }

    /// The session ID of the caller, if the router reports it.
    public var caller: WAMPID? { details["caller"]?.int.flatMap { WAMPID(exactly: $0) } }
    /// The user ID of the caller, if the router reports it.
    public var callerAuthID: String? { details["caller_authid"]?.string }
    /// The role of the caller, if the router reports it.
    public var callerAuthRole: String? { details["caller_authrole"]?.string }
    /// Whether the caller wants parts of the result as they come; otherwise `progress` sends nothing.
    public var wantsProgress: Bool { details["receive_progress"]?.bool ?? false }
    /// The timeout of the caller, if the router reports it.
    public var timeout: Duration? { details["timeout"]?.int.flatMap { $0 > 0 ? .milliseconds($0) : nil } }
    /// Whether more input follows; see ``parts``.
    public var isInParts: Bool { details["progress"]?.bool ?? false }

    /// Sends positional values as a part of the result; waits while the connection accepts no data.
    public func progress<each Part: Codable & Sendable>(_ parts: repeat each Part) async throws(WAMPError) {
        let form = WAMPForm<(repeat each Part)>.positional()
        let arguments: WAMPArguments
        do { arguments = try form.encode((repeat each parts), shell.serialization) } catch { throw .unencodable(error, "YIELD \(uri)") }
        try await progress(arguments)
    }

    /// Sends a part of the result; waits while the connection accepts no data.
    public func progress(_ arguments: WAMPArguments) async throws(WAMPError) {
        guard wantsProgress else { return }
        try await shell.yield(handle, arguments, "YIELD \(uri)")
    }

    /// The parts of the input after the first, if the caller sends it in parts; the sequence ends after the last part.
    public var parts: InvocationParts { InvocationParts(input: input) }
}

/// The parts of an invocation's input after the first; see ``Invocation/parts``.
public struct InvocationParts: AsyncSequence, Sendable {
    /// A part of the input.
    public typealias Element = WAMPArguments
    /// The sequence never fails.
    public typealias Failure = Never
    let input: CallMailbox?

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(input: input) }

    /// Iterates over the parts.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let input: CallMailbox?

        /// Waits for the next part; returns nil after the last one, or when the task is cancelled.
        public mutating func next() async -> WAMPArguments? { await next(isolation: nil) }

        /// Waits for the next part; returns nil after the last one, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> WAMPArguments? {
            (try? await input?.next())?.arguments
        }
    }
}

/// An error that a procedure's handler throws to answer with an error URI of its own.
///
/// ```swift
/// throw WAMPFailure("com.app.error.sold_out", ["nothing is left"], keywords: ["until": "Monday"])
/// ```
public struct WAMPFailure: Error, Sendable {
    /// The URI of the error.
    public let uri: String
    /// The arguments of the error.
    public let arguments: WAMPArguments

    /// Creates an error with its arguments.
    public init(_ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap()) {
        self.init(uri, WAMPArguments(list, keywords: keywords))
    }

    /// Creates an error with its arguments.
    public init(_ uri: String, _ arguments: WAMPArguments) { (self.uri, self.arguments) = (uri, arguments) }

    /// Converts an error that a handler threw to the error that the caller receives.
    init(of error: any Error, _ others: (any Error) -> WAMPFailure) {
        switch error {
        case let failure as WAMPFailure: self = failure
        // If a handler calls other procedures and does not catch their errors, these errors are passed on.
        case let error as WAMPError where error.code == .refused: self.init(error.uri ?? WAMPURI.Error.runtimeError, error.arguments)
        case is CancellationError: self.init(WAMPURI.Error.canceled)
        case let error as WAMPError where error.code == .cancelled: self.init(WAMPURI.Error.canceled)
        default: self = others(error)
        }
    }
}
