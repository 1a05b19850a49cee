/// What the doctor saw of one server; what it did not look at, or could not see, is nil.
///
/// These are the names that `--json` prints: later versions may add some, and change none. Times are in milliseconds.
struct Observations: Encodable, Sendable {
    /// A probe that brought nothing, and why.
    struct Shortfall: Encodable, Hashable, Sendable {
        let probe: String
        let why: String
    }

    /// Without the query, which may hold credentials.
    var url: String
    var proxy: ProxyView?
    var resolution: Resolution?
    var security: SecurityView?
    var upgrade: UpgradeView?
    var pings: PingView?
    var close: CloseView?
    /// By what was sent.
    var messages: [String: Reaction] = [:]
    var compression: CompressionView?
    var limit: LimitView?
    /// The upgrade on a path that nobody would serve.
    var unknownPath: RequestView?
    /// The upgrade with the origin of a page elsewhere.
    var wrongOrigin: RequestView?
    /// A request without `Host`.
    var malformed: MalformedView?
    var idle: IdleView?
    var unfinished: [Shortfall] = []

    init(url: String) { self.url = url }

    subscript(_ trial: Trial) -> Reaction? {
        get { messages[trial.rawValue] }
        set { messages[trial.rawValue] = newValue }
    }
}

/// What is sent to see what a server makes of it.
enum Trial: String, CaseIterable, Sendable {
    case text, binary, fragmented, pingWithin, empty, invalidUTF8, unmasked

    /// In a sentence: "the server … on …".
    var words: String {
        switch self {
        case .text: "text"
        case .binary: "binary messages"
        case .fragmented: "messages in fragments"
        case .pingWithin: "a ping between fragments"
        case .empty: "empty messages"
        case .invalidUTF8: "text that is not UTF-8"
        case .unmasked: "frames without a mask"
        }
    }
}
