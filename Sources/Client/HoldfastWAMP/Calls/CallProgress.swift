import WAMPCore

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
