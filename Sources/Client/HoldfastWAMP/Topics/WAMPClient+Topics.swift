public import CodecCore
public import WAMPCore

/// Publishing and subscribing.
extension WAMPClient {
    /// Publishes an event.
    ///
    /// Without `PublishOptions.isAcknowledged` this returns when the event was sent; with it, when the router has accepted the event.
    ///
    /// - Returns: The router's ID of the publication; nil without acknowledgement.
    @discardableResult
    public func publish<Content>(
        _ topic: Topic<Content>, _ content: Content, options: PublishOptions = PublishOptions()
    ) async throws(WAMPError) -> WAMPID? {
        guard topic.match == .exact else { throw WAMPError(.invalidURI, request: "PUBLISH \(topic.uri)", detail: "this is a pattern") }
        let arguments: WAMPArguments
        do { arguments = try topic.form.encode(content, shell.serialization) } catch { throw .unencodable(error, "PUBLISH \(topic.uri)") }
        return try await shell.publish(topic.uri, arguments, options)
    }

    /// Publishes an event to a topic by its URI.
    ///
    /// - Parameters:
    ///   - uri: The topic's URI.
    ///   - list: The positional arguments.
    ///   - keywords: The keyword arguments.
    ///   - options: The options.
    /// - Returns: The router's ID of the publication; nil without acknowledgement.
    @discardableResult
    public func publish(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: PublishOptions = PublishOptions()
    ) async throws(WAMPError) -> WAMPID? {
        try await shell.publish(uri, WAMPArguments(list, keywords: keywords), options)
    }

    /// Subscribes to a topic; returns when the subscription is active.
    ///
    /// The events do not keep the client alive: they end when the last reference to the client is released.
    ///
    /// - Parameters:
    ///   - topic: The topic, or a pattern.
    ///   - options: The options. If several subscribers share a topic, the `other` of the first one is used.
    ///   - buffer: The policy for events that arrive while the consumer is busy.
    public func subscribe<Content>(
        _ topic: Topic<Content>, options: SubscribeOptions = SubscribeOptions(), buffer: EventBuffer = .dropOldest()
    ) async throws(WAMPError) -> Events<Content> {
        Events(feed: try await shell.subscribe(TopicKey(topic.uri, match: topic.match), options, buffer), form: topic.form)
    }

    /// Subscribes to a topic by its URI, or to a pattern; returns when the subscription is active.
    public func subscribe(
        _ uri: String, match: WAMPMatch = .exact, options: SubscribeOptions = SubscribeOptions(), buffer: EventBuffer = .dropOldest()
    ) async throws(WAMPError) -> Events<WAMPArguments> {
        try await subscribe(Topic.raw(uri, match: match), options: options, buffer: buffer)
    }
}
