public import CodecCore
import Holdfast
import MachineCore
import StreamCore
public import WAMPCore
import WebSocketRuntime

/// The result of a call in parts as they arrive; the last part is the final result.
///
/// ``WAMPClient/callProgressively(_:_:options:)`` creates it. The call begins at once. It is cancelled when this value is released, or
/// when the task that iterates over it is cancelled. Only one iteration at a time is allowed.
public struct CallProgress<Output>: AsyncSequence, Sendable {
    /// A progressive part of the result, or the final result.
    public typealias Element = CallPart<Output>
    /// The error of a failed call.
    public typealias Failure = WAMPError
    let call: CallHandle
    let form: WAMPForm<Output>

    /// Cancels the call, unless it has ended.
    public func cancel() { call.cancel() }

    /// Waits for the final result, and ignores the parts before it.
    public func result() async throws(WAMPError) -> Output {
        var parts = makeAsyncIterator()
        while let part = try await parts.next() { if part.isFinal { return part.value } }
        throw WAMPError(.cancelled, request: "\(call.request)")
    }

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(call: call, form: form) }

    /// Iterates over the parts.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error of a failed call.
        public typealias Failure = WAMPError
        let call: CallHandle
        let form: WAMPForm<Output>

        /// Waits for the next part; returns nil after the result, or when the task is cancelled.
        public mutating func next() async throws(WAMPError) -> CallPart<Output>? { try await next(isolation: nil) }

        /// Waits for the next part; returns nil after the result, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WAMPError) -> CallPart<Output>? {
            guard let part = try await call.mailbox.next() else {
                if Task.isCancelled { call.cancel() }
                return nil
            }
            do { return CallPart(value: try form.decode(part.arguments), isFinal: part.isFinal) } catch {
                throw .undecodable(error, "\(call.request)")
            }
        }
    }
}

/// A part of a call's result.
public struct CallPart<Output> {
    /// The value of the part.
    public let value: Output
    /// Whether this is the final result, after which no part follows.
    public let isFinal: Bool
}

extension CallPart: Sendable where Output: Sendable {}

/// A call whose input is sent in parts; see ``WAMPClient/callInParts(_:_:keywords:options:)``.
///
/// The call is cancelled when this value is released before the call has ended.
public struct CallInParts: Sendable {
    let call: CallHandle

    /// The result in parts as they arrive; the last part is the final result.
    public var progress: CallProgress<WAMPArguments> { CallProgress(call: call, form: .raw) }

    /// Sends the next part of the input; waits until the session has joined, and while the connection accepts no data.
    ///
    /// - Throws: The reason why the call has ended; ``WAMPError/Code/cancelled`` if it already has its result.
    public func send(_ list: [Value] = [], keywords: ValueMap = ValueMap()) async throws(WAMPError) {
        try await call.send(WAMPArguments(list, keywords: keywords), isLast: false)
    }

    /// Sends the last part of the input, in the same way as ``send(_:keywords:)``.
    public func finish(_ list: [Value] = [], keywords: ValueMap = ValueMap()) async throws(WAMPError) {
        try await call.send(WAMPArguments(list, keywords: keywords), isLast: true)
    }

    /// Waits for the result.
    public func result() async throws(WAMPError) -> WAMPArguments { try await progress.result() }

    /// Cancels the call, unless it has ended.
    public func cancel() { call.cancel() }
}

/// One call whose result comes in parts; releasing this object cancels the call, unless it has ended.
final class CallHandle: Sendable {
    let shell: WAMPShell
    /// Nil if the call was never begun.
    let handle: ClientHandle?
    let mailbox: CallMailbox
    let request: WAMPRequest

    init(shell: WAMPShell, handle: ClientHandle?, mailbox: CallMailbox, request: WAMPRequest) {
        (self.shell, self.handle, self.mailbox, self.request) = (shell, handle, mailbox, request)
    }

    deinit { cancel() }

    func cancel() { if let handle { shell.giveUp(handle) } }

    /// Sends the next part of the input; waits for the session, and while the connection accepts no data.
    func send(_ arguments: WAMPArguments, isLast: Bool) async throws(WAMPError) {
        while true {
            let version = mailbox.changes.version
            try checkOpen()
            try await shell.roomToSend(within: nil, "\(request)")
            if let handle, shell.send(handle, arguments, isLast: isLast) { return }
            if Task.isCancelled { throw WAMPError(.cancelled, request: "\(request)", wasSent: false) }
            await mailbox.changes.next(after: version)
        }
    }

    /// Throws the reason why the call has ended, if it has.
    func checkOpen() throws(WAMPError) {
        guard let end = mailbox.end else { return }
        try end.get()
        throw WAMPError(.cancelled, request: "\(request)", wasSent: false, detail: "the call already has its result")
    }
}

/// The queue of the parts of one call for its one consumer: of its result for the caller, of its input for the callee.
final class CallMailbox: Sendable {
    /// Announces a new session or the end of the call to callers that wait to send more input.
    let changes = Changes()
    private let parts: Mailbox<ValuesAndNotes<WAMPArguments, WAMPArguments>, WAMPError>

    init(_ time: LinkTime) { parts = Mailbox(ValuesAndNotes(capacity: 4096, .refuse), time: time) }

    /// Adds a part; returns true if there was no room for it, which the last part always has.
    func push(_ arguments: WAMPArguments, isFinal: Bool) -> Bool { parts.push(isFinal ? .note(arguments) : .value(arguments)) }

    /// The result of the call; nil while more parts may come.
    var end: Result<Void, WAMPError>? { parts.end }

    /// Ends the queue: no more parts come.
    func finish(_ end: Result<Void, WAMPError>) {
        parts.finish(end)
        changes.announce()
    }

    /// Waits for the next part; returns nil after the last one, or when the task is cancelled.
    func next() async throws(WAMPError) -> (arguments: WAMPArguments, isFinal: Bool)? {
        switch try await parts.next() {
        case .value(let arguments)?: (arguments, false)
        case .note(let arguments)?: (arguments, true)
        case .dropped?, nil: nil
        }
    }
}
