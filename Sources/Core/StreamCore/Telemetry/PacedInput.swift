/// What can happen to a ``KeyedThrottle`` and a ``KeyedDebounce``.
public enum PacedInput<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// There is a newer value.
    case value(Key, Value)
    /// What waits is sent now.
    case flush
}

/// What a ``KeyedThrottle`` and a ``KeyedDebounce`` order.
public enum PacedEffect<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Send this.
    case send(Key, Value)
}
