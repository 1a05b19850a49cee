public import CodecCore
import Holdfast
import MachineCore
import StreamCore
public import WAMPCore
import WebSocketRuntime

/// The result of a call in parts as they come; the last one is the result itself.
///
/// Made by ``WAMPClient/callProgressively(_:_:options:)``. The call runs from the beginning; it is cancelled when this is released, or when
/// the task of a loop over it is. One loop at a time.
public struct CallProgress<Output>: AsyncSequence, Sendable {
    /// A part of the result, or the result.
    public typealias Element = CallPart<Output>
    /// How it can fail.
    public typealias Failure = WAMPError
    let call: CallHandle
    let form: WAMPForm<Output>

    /// Cancels the call, unless it has ended.
    public func cancel() { call.cancel() }

    /// Waits for the result, and passes over the parts before it.
    public func result() async throws(WAMPError) -> Output {
        var parts = makeAsyncIterator()
        while let part = try await parts.next() { if part.isFinal { return part.value } }
        throw WAMPError(.cancelled, request: "\(call.request)")
    }

    /// Starts to take parts.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(call: call, form: form) }

    /// Takes parts one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WAMPError
        let call: CallHandle
        let form: WAMPForm<Output>

        /// Waits for the next part; nil after the result, or when the task is cancelled.
        public mutating func next() async throws(WAMPError) -> CallPart<Output>? { try await next(isolation: nil) }

        /// Waits for the next part; nil after the result, or when the task is cancelled.
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
    /// What came.
    public let value: Output
    /// Whether it is the result itself: nothing follows.
    public let isFinal: Bool
}

extension CallPart: Sendable where Output: Sendable {}

/// A call whose input is sent in parts; see ``WAMPClient/callInParts(_:_:keywords:options:)``.
///
/// It is cancelled when this is released before it has ended.
public struct CallInParts: Sendable {
    let call: CallHandle

    /// The result in parts as they come; the last one is the result itself.
    public var progress: CallProgress<WAMPArguments> { CallProgress(call: call, form: .raw) }

    /// Sends the next part of the input; waits until the session has joined, and while the connection takes nothing.
    ///
    /// - Throws: Why the call has ended; ``WAMPError/Code/cancelled`` if that is because its result is there.
    public func send(_ list: [Value] = [], keywords: ValueMap = ValueMap()) async throws(WAMPError) {
        try await call.send(WAMPArguments(list, keywords: keywords), isLast: false)
    }

    /// Sends the last part of the input; as ``send(_:keywords:)``.
    public func finish(_ list: [Value] = [], keywords: ValueMap = ValueMap()) async throws(WAMPError) {
        try await call.send(WAMPArguments(list, keywords: keywords), isLast: true)
    }

    /// Waits for the result.
    public func result() async throws(WAMPError) -> WAMPArguments { try await progress.result() }

    /// Cancels the call, unless it has ended.
    public func cancel() { call.cancel() }
}

/// One call whose result comes in parts, from its beginning to the release of this object: then it is cancelled, unless it has ended.
final class CallHandle: Sendable {
    let shell: WAMPShell
    /// Nil if it was never begun.
    let handle: ClientHandle?
    let mailbox: CallMailbox
    let request: WAMPRequest

    init(shell: WAMPShell, handle: ClientHandle?, mailbox: CallMailbox, request: WAMPRequest) {
        (self.shell, self.handle, self.mailbox, self.request) = (shell, handle, mailbox, request)
    }

    deinit { cancel() }

    func cancel() { if let handle { shell.giveUp(handle) } }

    /// Sends the next part of the input; waits for the session, and while the connection takes nothing.
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

    /// Fails with why the call has ended, if it has.
    func checkOpen() throws(WAMPError) {
        guard let end = mailbox.end else { return }
        try end.get()
        throw WAMPError(.cancelled, request: "\(request)", wasSent: false, detail: "the call has its result")
    }
}

/// Where parts of one call wait for their one consumer: of its result with the caller, of its input with the callee.
final class CallMailbox: Sendable {
    /// Who has more input for the call waits here: for the session, or the end.
    let changes = Changes()
    private let parts: Mailbox<ValuesAndNotes<WAMPArguments, WAMPArguments>, WAMPError>

    init(_ time: LinkTime) { parts = Mailbox(ValuesAndNotes(capacity: 4096, .refuse), time: time) }

    /// Adds a part; true if there was no room for it, which the last part always has.
    func push(_ arguments: WAMPArguments, isFinal: Bool) -> Bool { parts.push(isFinal ? .note(arguments) : .value(arguments)) }

    /// How it ended; nil while more may come.
    var end: Result<Void, WAMPError>? { parts.end }

    /// No more comes.
    func finish(_ end: Result<Void, WAMPError>) {
        parts.finish(end)
        changes.announce()
    }

    /// Waits for the next part; nil after the last, or when the task is cancelled.
    func next() async throws(WAMPError) -> (arguments: WAMPArguments, isFinal: Bool)? {
        switch try await parts.next() {
        case .value(let arguments)?: (arguments, false)
        case .note(let arguments)?: (arguments, true)
        case .dropped?, nil: nil
        }
    }
}
