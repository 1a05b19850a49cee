/// Something that the doctor says of a server.
struct Finding: Encodable, Hashable, Sendable {
    /// How bad it is.
    enum Severity: String, Encodable, Comparable, Sendable {
        /// As it should be.
        case good
        /// Good to know.
        case note
        /// It works, but may hurt.
        case warning
        /// It does not work, or breaks RFC 6455.
        case broken

        static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .good: 0
            case .note: 1
            case .warning: 2
            case .broken: 3
            }
        }
    }

    /// What it is about; also decides the exit status.
    enum Topic: String, Encodable, CaseIterable, Sendable {
        case network, tls, upgrade, surroundings, pings, messages, compression, limit, close, idle

        var title: String {
            switch self {
            case .network: "Network"
            case .tls: "TLS"
            case .upgrade: "Upgrade"
            case .surroundings: "On the way"
            case .pings: "Pings"
            case .messages: "Messages"
            case .compression: "Compression"
            case .limit: "Message size"
            case .close: "Close"
            case .idle: "Idleness"
            }
        }

        /// The exit status if something of this is broken.
        var outcome: Outcome {
            switch self {
            case .network: .unreachable
            case .tls: .tls
            case .upgrade, .surroundings: .refused
            case .pings, .messages, .compression, .limit, .close, .idle: .violation
            }
        }
    }

    /// A stable name, such as `pings.never`: for programs.
    let id: String
    let topic: Topic
    let severity: Severity
    let text: String
    /// What stands behind it, a fact to a line.
    var details: [String] = []
    /// What to do.
    var advice: String?

    init(_ topic: Topic, _ name: String, _ severity: Severity, _ text: String, details: [String] = [], advice: String? = nil) {
        (self.topic, self.severity, self.text, self.details, self.advice) = (topic, severity, text, details, advice)
        id = "\(topic.rawValue).\(name)"
    }
}
