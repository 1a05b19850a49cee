/// Why a hub does not run, or does not do what it was asked.
public enum HubError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A choice of the configuration is wrong or does not fit another; it has to be changed.
    case configuration(String)
    /// A key cannot be used.
    case key(String)
    /// The log cannot be opened or copied.
    case log(String)
    /// The hub stops, or has too much to do; ask again later.
    case stopped

    /// What failed.
    public var description: String {
        switch self {
        case .configuration(let words): "the configuration is wrong: \(words)"
        case .key(let words): "a key cannot be used: \(words)"
        case .log(let words): "the log: \(words)"
        case .stopped: "the hub stops, or has too much to do"
        }
    }
}
