public import CodecCore
public import Dispatch
import HoldfastProtocols
public import WAMPCore

/// For code that is not asynchronous: calls with results, and input, in parts.
extension WAMPClient {
    /// Calls a procedure whose result comes in parts, and delivers them on a queue, one at a time, in order.
    ///
    /// See ``callProgressively(_:_:options:)``.
    ///
    /// - Parameters:
    ///   - procedure: The procedure.
    ///   - input: The positional arguments.
    ///   - options: The options.
    ///   - queue: The queue of the handlers.
    ///   - handle: Receives each part of the result, but not the final result.
    ///   - completion: Called once, with the final result or the error.
    /// - Returns: A handle that cancels the call; it may be ignored.
    @discardableResult
    public func callProgressively<each Argument, Output: Sendable>(
        _ procedure: Procedure<(repeat each Argument), Output>, _ input: repeat each Argument, options: CallOptions = CallOptions(),
        on queue: DispatchQueue = .main, handle: @escaping @Sendable (Output) -> Void,
        completion: @escaping @Sendable (Result<Output, WAMPError>) -> Void
    ) -> WAMPCancellation {
        do throws(WAMPError) {
            let progress = try callProgressively(procedure, repeat each input, options: options)
            progress.notify(queue, handle, completion)
            return WAMPCancellation { [weak call = progress.call] in call?.cancel() }
        } catch {
            queue.async { completion(.failure(error)) }
            return WAMPCancellation {}
        }
    }

    /// Calls a procedure by its URI whose result comes in parts, and delivers them on a queue, one at a time, in order.
    ///
    /// See ``callProgressively(_:_:keywords:options:)``.
    @discardableResult
    public func callProgressively(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions(),
        on queue: DispatchQueue = .main, handle: @escaping @Sendable (WAMPArguments) -> Void,
        completion: @escaping @Sendable (Result<WAMPArguments, WAMPError>) -> Void
    ) -> WAMPCancellation {
        callProgressively(
            Procedure.raw(uri), WAMPArguments(list, keywords: keywords), options: options, on: queue, handle: handle, completion: completion
        )
    }

    /// Calls a procedure by its URI with input in parts, of which this is the first.
    ///
    /// See ``callInParts(_:_:keywords:options:)``.
    ///
    /// - Parameters:
    ///   - uri: The procedure's URI.
    ///   - list: The positional arguments.
    ///   - keywords: The keyword arguments.
    ///   - options: The options.
    ///   - queue: The queue of the handlers.
    ///   - handle: Receives each part of the result, but not the final result.
    ///   - completion: Called once, with the final result or the error.
    /// - Returns: The call, which takes more input and can be cancelled; it may be ignored.
    public func callInParts(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions(),
        on queue: DispatchQueue = .main, handle: @escaping @Sendable (WAMPArguments) -> Void = { _ in },
        completion: @escaping @Sendable (Result<WAMPArguments, WAMPError>) -> Void
    ) -> CallInParts {
        let call = CallInParts(call: shell.beginProgress(uri, WAMPArguments(list, keywords: keywords), options, isInParts: true))
        call.progress.notify(queue, handle, completion)
        return call
    }
}

/// For code that is not asynchronous: sending parts of the input.
extension CallInParts {
    /// Sends the next part of the input, without waiting.
    ///
    /// If ``send(_:keywords:)`` would wait for long, this fails with ``WAMPError/Code/tooManyWaiting``.
    public func send(
        _ list: [Value] = [], keywords: ValueMap = ValueMap(), on queue: DispatchQueue = .main,
        completion: @escaping @Sendable (Result<Void, WAMPError>) -> Void
    ) {
        send(WAMPArguments(list, keywords: keywords), isLast: false, queue, completion)
    }

    /// Sends the last part of the input, without waiting.
    ///
    /// If ``finish(_:keywords:)`` would wait for long, this fails with ``WAMPError/Code/tooManyWaiting``.
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
    /// Sends the next part of the input at once, unless too much data waits to be sent already.
    fileprivate func push(_ arguments: WAMPArguments, isLast: Bool) throws(WAMPError) {
        try checkOpen()
        guard shell.waitingToSend < OutgoingLimits.reader else { throw WAMPError(ClientFailure.tooManyWaiting, of: "\(request)") }
        if let handle { shell.command(.part(handle, arguments, isLast: isLast)) }
    }
}

extension CallProgress where Output: Sendable {
    /// Delivers all parts on a queue, one at a time, and then the final result.
    fileprivate func notify(
        _ queue: DispatchQueue, _ handle: @escaping @Sendable (Output) -> Void,
        _ completion: @escaping @Sendable (Result<Output, WAMPError>) -> Void
    ) {
        // SAFETY: ends with the call, which ends at the latest with the client.
        Task {
            let result: Result<Output, WAMPError>
            do throws(WAMPError) { result = .success(try await follow(queue, handle)) } catch { result = .failure(error) }
            queue.async { completion(result) }
        }
    }

    private func follow(_ queue: DispatchQueue, _ handle: @escaping @Sendable (Output) -> Void) async throws(WAMPError) -> Output {
        for try await part in self {
            let value = part.value
            if part.isFinal { return value }
            await queue.turn { handle(value) }
        }
        throw WAMPError(.cancelled, request: "\(call.request)")
    }
}
