public import CodecCore
public import Dispatch
import HoldfastProtocols
public import WAMPCore

/// For code that is not asynchronous: the same operations with completion handlers, each called exactly once, on a queue of choice.
///
/// Requests are sent in the order of the calls. Where an asynchronous caller would wait because the connection accepts no data, these
/// methods queue the request, up to a high limit, and then fail with ``WAMPError/Code/tooManyWaiting``.
extension WAMPClient {
    /// Calls a procedure with positional arguments; see ``call(_:_:options:)``.
    @discardableResult
    public func call<each Argument, Output: Sendable>(
        _ procedure: Procedure<(repeat each Argument), Output>, _ input: repeat each Argument, options: CallOptions = CallOptions(),
        on queue: DispatchQueue = .main, completion: @escaping @Sendable (Result<Output, WAMPError>) -> Void
    ) -> WAMPCancellation {
        let request = "CALL \(procedure.uri)"
        return begin(queue, completion) { () throws(WAMPError) in
            do { return try procedure.input.encode((repeat each input), shell.serialization) } catch { throw .unencodable(error, request) }
        } _: { arguments, reply in
            shell.beginCall(procedure.uri, arguments, options, .closure(reply))
        } decode: { [output = procedure.output] arguments throws(WAMPError) in
            do { return try output.decode(arguments) } catch { throw .undecodable(error, request) }
        }
    }

    /// Calls a procedure by its URI; see ``call(_:_:keywords:options:)``.
    @discardableResult
    public func call(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions(),
        on queue: DispatchQueue = .main, completion: @escaping @Sendable (Result<WAMPArguments, WAMPError>) -> Void
    ) -> WAMPCancellation {
        call(Procedure.raw(uri), WAMPArguments(list, keywords: keywords), options: options, on: queue, completion: completion)
    }

    /// Publishes an event; see ``publish(_:_:options:)``.
    @discardableResult
    public func publish<Content>(
        _ topic: Topic<Content>, _ content: Content, options: PublishOptions = PublishOptions(), on queue: DispatchQueue = .main,
        completion: @escaping @Sendable (Result<WAMPID?, WAMPError>) -> Void
    ) -> WAMPCancellation {
        let request = "PUBLISH \(topic.uri)"
        return begin(queue, completion) { () throws(WAMPError) in
            guard topic.match == .exact else { throw WAMPError(.invalidURI, request: request, detail: "this is a pattern") }
            do { return try topic.form.encode(content, shell.serialization) } catch { throw .unencodable(error, request) }
        } _: { arguments, reply in
            shell.beginPublication(topic.uri, arguments, options, .closure(reply))
        } decode: { publication in
            publication
        }
    }

    /// Publishes an event to a topic by its URI; see ``publish(_:_:keywords:options:)``.
    @discardableResult
    public func publish(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: PublishOptions = PublishOptions(),
        on queue: DispatchQueue = .main, completion: @escaping @Sendable (Result<WAMPID?, WAMPError>) -> Void
    ) -> WAMPCancellation {
        publish(Topic.raw(uri), WAMPArguments(list, keywords: keywords), options: options, on: queue, completion: completion)
    }

    /// Begins an operation whose result is delivered on a queue.
    private func begin<Content, Answer: Sendable, Output: Sendable>(
        _ queue: DispatchQueue, _ completion: @escaping @Sendable (Result<Output, WAMPError>) -> Void,
        _ encode: () throws(WAMPError) -> Content,
        _ begin: (Content, @escaping @Sendable (Result<Answer, WAMPError>) -> Void) -> ClientHandle?,
        decode: @escaping @Sendable (Answer) throws(WAMPError) -> Output
    ) -> WAMPCancellation {
        do throws(WAMPError) {
            let handle = begin(try encode()) { result in
                queue.async { completion(result.flatMap { answer in Result { () throws(WAMPError) in try decode(answer) } }) }
            }
            return WAMPCancellation { [weak shell] in if let handle { shell?.giveUp(handle) } }
        } catch {
            queue.async { completion(.failure(error)) }
            return WAMPCancellation {}
        }
    }
}

/// Cancels an operation with a completion handler.
public struct WAMPCancellation: Sendable {
    let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    /// Cancels the operation, unless it has ended; the completion handler receives the cancellation.
    public func cancel() { end() }
}

/// For code that is not asynchronous: the session.
extension WAMPClient {
    /// Waits until the session has joined; see ``joined(within:)``.
    ///
    /// - Returns: A handle that cancels the wait; it may be ignored.
    @discardableResult
    public func joined(
        within patience: Duration? = nil, on queue: DispatchQueue = .main,
        completion: @escaping @Sendable (Result<JoinedSession, WAMPError>) -> Void
    ) -> WAMPCancellation {
        let shell = shell
        // SAFETY: ends when the session has joined, at the latest with the client; the returned handle cancels it.
        let task = Task {
            let result: Result<JoinedSession, WAMPError>
            do throws(WAMPError) { result = .success(try await shell.joined(within: patience)) } catch { result = .failure(error) }
            queue.async { completion(result) }
        }
        return WAMPCancellation { task.cancel() }
    }

    /// Leaves the realm and closes the socket for good; see ``close()``.
    ///
    /// - Parameters:
    ///   - queue: The queue of the completion handler.
    ///   - completion: Called once, when the socket is closed.
    public func close(on queue: DispatchQueue = .main, completion: @escaping @Sendable () -> Void) {
        shell.leave()
        // SAFETY: ends after the goodbye and the close handshake, both bounded; keeps the client until then.
        Task {
            await close()
            queue.async(execute: completion)
        }
    }

    /// Asks the router to publish an event when this client is gone; see ``addTestament(_:_:options:scope:)``.
    ///
    /// - Returns: A handle that cancels the wait; it may be ignored.
    @discardableResult
    public func addTestament<Content>(
        _ topic: Topic<Content>, _ content: Content, options: PublishOptions = PublishOptions(), scope: TestamentScope = .destroyed,
        on queue: DispatchQueue = .main, completion: @escaping @Sendable (Result<Void, WAMPError>) -> Void
    ) -> WAMPCancellation {
        begin(queue, completion) { () throws(WAMPError) in
            try Testament(topic, content, options, scope, shell.serialization)
        } _: { testament, reply in
            shell.beginCall(Testament.procedure, testament.call, shell.options(handingIn: testament), .closure(reply))
        } decode: { _ in
        }
    }

    /// Asks the router to drop the testaments of a scope; see ``flushTestaments(_:)``.
    ///
    /// - Returns: A handle that cancels the wait; it may be ignored.
    @discardableResult
    public func flushTestaments(
        _ scope: TestamentScope = .destroyed, on queue: DispatchQueue = .main,
        completion: @escaping @Sendable (Result<Void, WAMPError>) -> Void
    ) -> WAMPCancellation {
        begin(queue, completion) {
            scope.arguments
        } _: { arguments, reply in
            shell.command(.forgetTestaments(scope))
            return shell.beginCall(Testament.flush, arguments, shell.options(handingIn: nil), .closure(reply))
        } decode: { _ in
        }
    }
}
