import CodecCore
import NIOConcurrencyHelpers
public import WAMPCore

extension WAMPClient {
    /// Has the router publish an event when this client is gone; returns when the router has taken that.
    ///
    /// It is handed in anew each time the client joins again, for the router publishes it at every loss. ``close()`` is a loss too: call
    /// ``flushTestaments(_:)`` before it where nothing is to be published.
    ///
    /// - Parameters:
    ///   - topic: Where to.
    ///   - content: The event.
    ///   - options: How it is published.
    ///   - scope: When.
    public func addTestament<Content>(
        _ topic: Topic<Content>, _ content: Content, options: PublishOptions = PublishOptions(), scope: TestamentScope = .destroyed
    ) async throws(WAMPError) {
        let request = "CALL \(WAMPTestament.procedure)"
        let testament: WAMPTestament
        let call: WAMPArguments
        do {
            testament = WAMPTestament(
                topic: topic.uri, arguments: try topic.form.encode(content, desk.serialization), options: options, scope: scope)
            call = try testament.call()
        } catch {
            throw .unencodable(error, request)
        }
        _ = try await desk.call(WAMPTestament.procedure, call, CallOptions(timeout: desk.options.answerPatience))
        desk.keep(testament)
    }

    /// Has the router forget the testaments of a scope.
    public func flushTestaments(_ scope: TestamentScope = .destroyed) async throws(WAMPError) {
        desk.forgetTestaments(scope)
        _ = try await desk.call(
            WAMPTestament.flush, WAMPArguments(keywords: ["scope": .text(scope.rawValue)]),
            CallOptions(timeout: desk.options.answerPatience))
    }
}

extension WAMPDesk {
    func keep(_ testament: WAMPTestament) { state.withLockedValue { $0.testaments.append(testament) } }

    func forgetTestaments(_ scope: TestamentScope) { state.withLockedValue { $0.testaments.removeAll { $0.scope == scope } } }

    /// The session is another, and the router knows no testament of it.
    func restoreTestaments() {
        for testament in state.withLockedValue(\.testaments) {
            guard let call = try? testament.call() else { continue }
            _ = beginCall(
                WAMPTestament.procedure, call, CallOptions(timeout: options.answerPatience, joinPatience: nil),
                .closure { [weak self] result in
                    // With the connection lost again the next one tries again.
                    if case .failure(let error) = result, error.code != .connectionLost { self?.log(error) }
                })
        }
    }
}
