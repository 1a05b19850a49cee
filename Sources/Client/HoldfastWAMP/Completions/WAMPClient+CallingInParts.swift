public import CodecCore
public import Dispatch
import HoldfastProtocols
public import WAMPCore

/// For code that is not asynchronous: results, and input, in parts.
extension WAMPClient {
    /// Calls a procedure whose result comes in parts, and hears them on a queue, one at a time, in order.
    ///
    /// See ``callProgressively(_:_:options:)``.
    ///
    /// - Parameters:
    ///   - procedure: What to call.
    ///   - input: The parts of its input.
    ///   - options: What is to be other than the defaults.
    ///   - queue: Where the app is told.
    ///   - hear: A part of the result; the result itself is not among them.
    ///   - completion: Called once, with the result, or with why there is none.
    /// - Returns: What ends it; dropping that changes nothing.
    @discardableResult
    public func callProgressively<each Argument, Output: Sendable>(
        _ procedure: Procedure<(repeat each Argument), Output>, _ input: repeat each Argument, options: CallOptions = CallOptions(),
        on queue: DispatchQueue = .main, hear: @escaping @Sendable (Output) -> Void,
        completion: @escaping @Sendable (Result<Output, WAMPError>) -> Void
    ) -> WAMPCancellation {
        do throws(WAMPError) {
            let progress = try callProgressively(procedure, repeat each input, options: options)
            progress.tell(queue, hear, completion)
            return WAMPCancellation { [weak call = progress.call] in call?.cancel() }
        } catch {
            queue.async { completion(.failure(error)) }
            return WAMPCancellation {}
        }
    }

    /// Calls a procedure by its URI whose result comes in parts, and hears them on a queue, one at a time, in order.
    ///
    /// See ``callProgressively(_:_:keywords:options:)``.
    @discardableResult
    public func callProgressively(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions(),
        on queue: DispatchQueue = .main, hear: @escaping @Sendable (WAMPArguments) -> Void,
        completion: @escaping @Sendable (Result<WAMPArguments, WAMPError>) -> Void
    ) -> WAMPCancellation {
        callProgressively(
            Procedure.raw(uri), WAMPArguments(list, keywords: keywords), options: options, on: queue, hear: hear, completion: completion)
    }

    /// Calls a procedure by its URI with input that is sent in parts, of which this is the first.
    ///
    /// See ``callInParts(_:_:keywords:options:)``.
    ///
    /// - Parameters:
    ///   - uri: The procedure's URI.
    ///   - list: Arguments by place.
    ///   - keywords: Arguments by name.
    ///   - options: What is to be other than the defaults.
    ///   - queue: Where the app is told.
    ///   - hear: A part of the result; the result itself is not among them.
    ///   - completion: Called once, with the result, or with why there is none.
    /// - Returns: What takes more input, and cancels; dropping that changes nothing.
    public func callInParts(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions(),
        on queue: DispatchQueue = .main, hear: @escaping @Sendable (WAMPArguments) -> Void = { _ in },
        completion: @escaping @Sendable (Result<WAMPArguments, WAMPError>) -> Void
    ) -> CallInParts {
        let call = CallInParts(call: shell.beginProgress(uri, WAMPArguments(list, keywords: keywords), options, isInParts: true))
        call.progress.tell(queue, hear, completion)
        return call
    }
}

/// For code that is not asynchronous.
extension CallInParts {
    /// Sends the next part of the input, without waiting.
    ///
    /// Where ``send(_:keywords:)`` would wait for long, this fails with ``WAMPError/Code/tooManyWaiting``.
    public func send(
        _ list: [Value] = [], keywords: ValueMap = ValueMap(), on queue: DispatchQueue = .main,
        completion: @escaping @Sendable (Result<Void, WAMPError>) -> Void
    ) {
        send(WAMPArguments(list, keywords: keywords), isLast: false, queue, completion)
    }

    /// Sends the last part of the input, without waiting.
    ///
    /// Where ``finish(_:keywords:)`` would wait for long, this fails with ``WAMPError/Code/tooManyWaiting``.
    public func finish(
        _ list: [Value] = [], keywords: ValueMap = ValueMap(), on queue: DispatchQueue = .main,
        completion: @escaping @Sendable (Result<Void, WAMPError>) -> Void
    ) {
        send(WAMPArguments(list, keywords: keywords), isLast: true, queue, completion)
    }

    private func send(
        _ arguments: WAMPArguments, isLast: Bool, _ queue: DispatchQueue,
        _ completion: @escaping @Sendable (Result<Void, WAMPError>) -> Void
    ) {
        let result = Result { () throws(WAMPError) in try call.push(arguments, isLast: isLast) }
        queue.async { completion(result) }
    }
}

extension CallHandle {
    /// Sends the next part of the input at once, unless so much waits already.
    fileprivate func push(_ arguments: WAMPArguments, isLast: Bool) throws(WAMPError) {
        try checkOpen()
        guard shell.waitingToSend < OutgoingLimits.reader else { throw WAMPError(ClientFailure.tooManyWaiting, of: "\(request)") }
        if let handle { shell.command(.part(handle, arguments, isLast: isLast)) }
    }
}

extension CallProgress where Output: Sendable {
    /// Tells of all parts on a queue, one at a time, and then of the result.
    fileprivate func tell(
        _ queue: DispatchQueue, _ hear: @escaping @Sendable (Output) -> Void,
        _ completion: @escaping @Sendable (Result<Output, WAMPError>) -> Void
    ) {
        // SAFETY: ends with the call, which ends at the latest with the client.
        Task {
            let result: Result<Output, WAMPError>
            do throws(WAMPError) { result = .success(try await follow(queue, hear)) } catch { result = .failure(error) }
            queue.async { completion(result) }
        }
    }

    private func follow(_ queue: DispatchQueue, _ hear: @escaping @Sendable (Output) -> Void) async throws(WAMPError) -> Output {
        for try await part in self {
            let value = part.value
            if part.isFinal { return value }
            await queue.turn { hear(value) }
        }
        throw WAMPError(.cancelled, request: "\(call.request)")
    }
}
