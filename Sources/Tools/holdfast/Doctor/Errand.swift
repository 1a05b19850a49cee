import Holdfast

/// How to reach the server, and how long to wait for it.
struct Errand: Sendable {
    var options: ClientOptions
    /// For one answer.
    let patience: Duration
    /// When all is over.
    let end: ContinuousClock.Instant

    init(options: ClientOptions, patience: Duration, end: ContinuousClock.Instant) {
        (self.options, self.patience, self.end) = (options, patience, end)
        (self.options.connectTimeout, self.options.handshakeTimeout) = (patience, patience)
    }

    /// Whether there is time for another question.
    var hasTime: Bool { ContinuousClock.now < end }

    /// So long from now, or the patience, but not past the end.
    func deadline(_ limit: Duration? = nil) -> ContinuousClock.Instant { min(.now + (limit ?? patience), end) }

    /// The same errand with less time.
    func within(_ limit: Duration) -> Errand { Errand(options: options, patience: patience, end: deadline(limit)) }
}

extension ContinuousClock.Instant {
    /// How long it is until then; zero once it has passed.
    var remaining: Duration { max(.zero, ContinuousClock.now.duration(to: self)) }
}

/// A probe came to nothing.
struct ProbeFailure: Error, CustomStringConvertible { let description: String }
