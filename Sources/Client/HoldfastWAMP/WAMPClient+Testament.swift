import CodecCore
import HoldfastProtocols
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
        let testament = try Testament(topic, content, options, scope, shell.serialization)
        _ = try await shell.call(Testament.procedure, testament.call, shell.options(handingIn: testament))
    }

    /// Has the router forget the testaments of a scope.
    public func flushTestaments(_ scope: TestamentScope = .destroyed) async throws(WAMPError) {
        try await shell.roomToSend(within: shell.context.options.answerPatience, "CALL \(Testament.flush)")
        shell.command(.forgetTestaments(scope))
        _ = try await shell.call(Testament.flush, scope.arguments, shell.options(handingIn: nil))
    }
}

extension Testament {
    convenience init<Content>(
        _ topic: Topic<Content>, _ content: Content, _ options: PublishOptions, _ scope: TestamentScope, _ serialization: WAMPSerialization?
    ) throws(WAMPError) {
        do {
            try self.init(topic: topic.uri, arguments: topic.form.encode(content, serialization), options: options, scope: scope)
        } catch {
            throw .unencodable(error, "CALL \(Self.procedure)")
        }
    }
}

extension TestamentScope {
    /// What a call to flush carries.
    var arguments: WAMPArguments { WAMPArguments(keywords: ["scope": .text(rawValue)]) }
}

extension WAMPShell {
    func options(handingIn testament: Testament?) -> CallOptions {
        var options = CallOptions(timeout: context.options.answerPatience)
        options.testament = testament
        return options
    }
}
