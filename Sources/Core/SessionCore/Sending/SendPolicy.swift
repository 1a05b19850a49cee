/// What becomes of messages that cannot go out at once.
public struct SendPolicy: Hashable, Sendable {
    /// What happens to a message while there is no connection.
    public enum WhileDisconnected: Hashable, Sendable {
        /// Its caller waits for a connection, at most this long from the sending or, if that was later, from the loss.
        ///
        /// A caller that says how long it waits is not bound by this.
        /// Nothing bounds how many wait: each has a caller, who sends nothing else meanwhile.
        case wait(Duration)
        /// It is kept until there is a connection, within the policy's capacity.
        case queue
        /// It is refused at once, and so is whatever a lost connection had not taken.
        case fail
    }
    /// What gives way when the queue has no room for one more message.
    ///
    /// A message never gives way to one of a lower lane, and none that is on its way gives way at all.
    public enum Overflow: Hashable, Sendable {
        /// The oldest of the lowest lane, then the next, until there is room.
        case dropOldest
        /// The newest of the lowest lane, then the one before; in its own lane the newcomer is the newest, and is refused.
        case dropNewest
        /// The newcomer: what was accepted stays.
        case refuse
    }

    /// What happens while there is no connection; by default the caller waits for half a minute.
    public var whileDisconnected: WhileDisconnected
    /// The most that may wait under ``WhileDisconnected/queue``, connected or not; by default 1000 messages and 1 MiB.
    ///
    /// A message of more bytes than this goes out only if it need not wait.
    public var capacity: SendVolume
    /// What gives way at the capacity; by default the newcomer.
    public var overflow: Overflow

    /// A policy.
    public init(
        whileDisconnected: WhileDisconnected = .wait(.seconds(30)),
        capacity: SendVolume = SendVolume(count: 1000, bytes: 1 << 20),
        overflow: Overflow = .refuse
    ) {
        (self.whileDisconnected, self.capacity, self.overflow) = (whileDisconnected, capacity, overflow)
    }
}
