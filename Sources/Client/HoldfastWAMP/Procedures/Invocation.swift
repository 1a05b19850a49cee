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
