import CodecCore
import HoldfastProtocols
public import WAMPCore

extension WAMPClient {
    /// Asks the router to publish an event when this client is gone; returns when the router has accepted the testament.
    ///
    /// The client sends the testament again each time it joins, because the router publishes it at every lost connection. ``close()``
    /// counts as a lost connection too: to publish nothing, call ``flushTestaments(_:)`` before it.
    ///
    /// - Parameters:
    ///   - topic: The topic of the event.
    ///   - content: The content of the event.
    ///   - options: The options of the publication.
    ///   - scope: The time at which the router publishes it.
    public func addTestament<Content>(
        _ topic: Topic<Content>, _ content: Content, options: PublishOptions = PublishOptions(), scope: TestamentScope = .destroyed
    ) async throws(WAMPError) {
        let testament = try Testament(topic, content, options, scope, shell.serialization)
        _ = try await shell.call(Testament.procedure, testament.call, shell.options(handingIn: testament))
    }

    /// Asks the router to drop the testaments of a scope.
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
    /// The arguments of a call that flushes this scope.
    var arguments: WAMPArguments { WAMPArguments(keywords: ["scope": .text(rawValue)]) }
}

extension WAMPShell {
    func options(handingIn testament: Testament?) -> CallOptions {
        var options = CallOptions(timeout: context.options.answerPatience)
        options.testament = testament
        return options
    }
}
