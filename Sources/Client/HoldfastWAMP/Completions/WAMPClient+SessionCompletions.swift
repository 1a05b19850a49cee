public import Dispatch
public import WAMPCore

/// For code that is not asynchronous: the session.
extension WAMPClient {
    /// Waits until the session has joined; see ``joined(within:)``.
    ///
    /// - Returns: What ends the waiting; dropping that changes nothing.
    @discardableResult
    public func joined(
        within patience: Duration? = nil, on queue: DispatchQueue = .main,
        completion: @escaping @Sendable (Result<JoinedSession, WAMPError>) -> Void
    ) -> WAMPCancellation {
        let shell = shell
        // SAFETY: ends when the session has joined, at the latest with the client; cancelled by what is returned.
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
    ///   - queue: Where the app is told.
    ///   - completion: Called once, when that is done.
    public func close(on queue: DispatchQueue = .main, completion: @escaping @Sendable () -> Void) {
        shell.leave()
        // SAFETY: ends after the goodbye and the close handshake, both bounded; keeps the client until then.
        Task {
            await close()
            queue.async(execute: completion)
        }
    }

    /// Has the router publish an event when this client is gone; see ``addTestament(_:_:options:scope:)``.
    ///
    /// - Returns: What ends the waiting; dropping that changes nothing.
    @discardableResult
    public func addTestament<Content>(
        _ topic: Topic<Content>, _ content: Content, options: PublishOptions = PublishOptions(), scope: TestamentScope = .destroyed,
        on queue: DispatchQueue = .main, completion: @escaping @Sendable (Result<Void, WAMPError>) -> Void
    ) -> WAMPCancellation {
        do throws(WAMPError) {
            let testament = try Testament(topic, content, options, scope, shell.serialization)
            return cancellation(shell.begin(testament) { result in queue.async { completion(result) } })
        } catch {
            queue.async { completion(.failure(error)) }
            return WAMPCancellation {}
        }
    }

    /// Has the router forget the testaments of a scope; see ``flushTestaments(_:)``.
    ///
    /// - Returns: What ends the waiting; dropping that changes nothing.
    @discardableResult
    public func flushTestaments(
        _ scope: TestamentScope = .destroyed, on queue: DispatchQueue = .main,
        completion: @escaping @Sendable (Result<Void, WAMPError>) -> Void
    ) -> WAMPCancellation {
        cancellation(shell.beginFlush(scope) { result in queue.async { completion(result) } })
    }

    private func cancellation(_ handle: ClientHandle?) -> WAMPCancellation {
        WAMPCancellation { [weak shell] in if let handle { shell?.giveUp(handle) } }
    }
}
