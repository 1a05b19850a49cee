public import StreamCore

extension WebSocket {
    /// Collects values and sends many as one message: measurements, logs, positions.
    ///
    /// ```swift
    /// let readings = socket.telemetry(of: Reading.self) { telemetry in
    ///     telemetry.batch = BatchPolicy(count: 200, bytes: 16 << 10, age: .seconds(1))
    ///     telemetry.adapts = AdaptiveRatePolicy()
    /// }
    /// ```
    /// Each message is what ``WebSocketOptions/codec`` makes of an array of values. What waits leaves before ``close(code:reason:)``
    /// closes the connection, and when the app goes to the background.
    public func telemetry<Value: Encodable & Sendable>(
        of type: Value.Type = Value.self, _ configure: (inout TelemetryOptions) -> Void = { _ in }
    ) -> Telemetry<Value> {
        var options = TelemetryOptions()
        configure(&options)
        return Telemetry(self, options)
    }

    /// Sends at most one value of each key per interval, each as a message of its own: cursor moves, sliders.
    ///
    /// - Parameters:
    ///   - type: What is sent.
    ///   - interval: The least time between two values of a key.
    ///   - edges: Whether the first value of a burst is sent at once, or the last when the interval is over, or both.
    ///   - key: What makes two values belong together.
    ///   - configure: Changes what is to be other than the defaults.
    public func sender<Key: Hashable & Sendable, Value: Encodable & Sendable>(
        of type: Value.Type, throttle interval: Duration, edges: PacedEdges = .both, by key: @escaping @Sendable (Value) -> Key,
        _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        var options = PacedOptions()
        configure(&options)
        let throttle = KeyedThrottle<Key, Value>(interval, edges: edges, keyLimit: options.keyLimit)
        return PacedSender(self, PacedLine(self, .throttle(throttle), options, by: key))
    }

    /// The same for values that all belong together.
    public func sender<Value: Encodable & Sendable>(
        of type: Value.Type, throttle interval: Duration, edges: PacedEdges = .both, _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        sender(of: type, throttle: interval, edges: edges, by: { _ in true }, configure)
    }

    /// Sends the last value of a burst when its key has been quiet for a while, each as a message of its own: typing, searching.
    ///
    /// - Parameters:
    ///   - type: What is sent.
    ///   - quiet: How long there must be nothing new of a key.
    ///   - longestWait: How long a change may wait at most; nil: until there is quiet.
    ///   - edges: Whether the first value of a burst is sent at once, or the last when there is quiet, or both.
    ///   - key: What makes two values belong together.
    ///   - configure: Changes what is to be other than the defaults.
    public func sender<Key: Hashable & Sendable, Value: Encodable & Sendable>(
        of type: Value.Type, debounce quiet: Duration, longestWait: Duration? = nil, edges: PacedEdges = .trailing,
        by key: @escaping @Sendable (Value) -> Key, _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        var options = PacedOptions()
        configure(&options)
        let debounce = KeyedDebounce<Key, Value>(quiet, longestWait: longestWait, edges: edges, keyLimit: options.keyLimit)
        return PacedSender(self, PacedLine(self, .debounce(debounce), options, by: key))
    }

    /// The same for values that all belong together.
    public func sender<Value: Encodable & Sendable>(
        of type: Value.Type, debounce quiet: Duration, longestWait: Duration? = nil, edges: PacedEdges = .trailing,
        _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        sender(of: type, debounce: quiet, longestWait: longestWait, edges: edges, by: { _ in true }, configure)
    }
}
