import ArgumentParser

/// A time in seconds, such as `2` or `0.5`, at most a day.
struct Seconds: Hashable, Sendable, ExpressibleByArgument {
    let duration: Duration

    init(_ seconds: Int) { duration = .seconds(seconds) }

    /// Reads a number from 0 to 86400; nil for anything else.
    init?(argument: String) {
        guard let value = Double(argument), value.isFinite, 0...86_400 ~= value else { return nil }
        duration = .seconds(value)
    }
}
