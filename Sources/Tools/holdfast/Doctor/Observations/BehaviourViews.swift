/// What a server does when something is sent to it.
struct Reaction: Encodable, Hashable, Sendable {
    /// In one word.
    enum Kind: String, Encodable, Hashable, Sendable {
        /// The same came back.
        case echoed
        /// Something else came back.
        case answered
        /// Nothing came back, but a ping that was sent behind it was answered.
        case silent
        /// It sent a close frame.
        case closed
        /// It ended TCP without one.
        case hungUp
        /// It broke the protocol itself.
        case garbled
        /// There was no sign of life at all.
        case nothing
    }

    var kind: Kind
    /// The code of its close frame; 1005 if that had none.
    var closeCode: Int?
    /// What there is to say besides: the reason of a close frame, what it answered.
    var detail: String?
    var ms: Double
    /// Of a ping between fragments: whether its pong came before the message was complete.
    var isPongInTime: Bool?

    /// Whether the connection outlived it.
    var isSurvived: Bool { [.echoed, .answered, .silent].contains(kind) }
}

/// What became of pings.
struct PingView: Encodable, Hashable, Sendable {
    var sent = 0
    var answered = 0
    /// Messages that came meanwhile, unasked.
    var messages = 0
    var minMs: Double?
    var medianMs: Double?
    var p95Ms: Double?

    /// Takes round trips, one for each ping that was answered.
    init(sent: Int, roundTrips: [Double], messages: Int = 0) {
        let sorted = roundTrips.sorted()
        (self.sent, answered, self.messages) = (sent, sorted.count, messages)
        guard !sorted.isEmpty else { return }
        /// The nearest rank: with ten pings the 95th percentile is the longest.
        func rank(_ part: Double) -> Double { sorted[max(0, Int((part * Double(sorted.count)).rounded(.up)) - 1)] }
        (minMs, medianMs, p95Ms) = (sorted[0], rank(0.5), rank(0.95))
    }
}

/// What became of a close frame with 1000.
struct CloseView: Encodable, Hashable, Sendable {
    var isAnswered = false
    /// 1005: the answer had no code.
    var code: Int?
    var answerMs: Double?
    /// Whether it ended TCP after that, as the server should (RFC 6455 §7.1.1).
    var endsTCP = false
    /// From the close frame on.
    var endMs: Double?
}

/// What permessage-deflate does for a sample.
struct CompressionView: Encodable, Hashable, Sendable {
    /// Whether the server agreed; nil is for what follows from that.
    var isAgreed = false
    var serverNoContextTakeover: Bool?
    var clientNoContextTakeover: Bool?
    var serverMaxWindowBits: Int?
    var clientMaxWindowBits: Int?
    /// Of the sample, before and after; frame headers are not counted.
    var sampleBytes: Int?
    var sentBytes: Int?
    /// What the server made of the sample; `echoed` proves that it could read it.
    var reaction: Reaction?
    /// The payload of the echo on the wire; nil: there was none.
    var echoBytes: Int?
    /// Whether the echo was compressed, too.
    var isEchoCompressed: Bool?
}

/// How large a message may be.
struct LimitView: Encodable, Hashable, Sendable {
    /// The largest that was taken; nil: not even the smallest.
    var largestTaken: Int?
    /// The smallest that was not; nil: all were taken.
    var smallestRefused: Int?
    /// No larger one was tried.
    let cap: Int
    /// How the server refuses.
    var refusal: Reaction?
    /// `text` or `binary`.
    var sentAs = "binary"
    /// What says that a message was taken: its `echo`, or the `pong` of a ping behind it.
    var proof = "echo"

    var isExact: Bool { largestTaken.flatMap { taken in smallestRefused.map { $0 == taken + 1 } } ?? false }
}

/// What becomes of a connection on which this side is silent.
struct IdleView: Encodable, Hashable, Sendable {
    /// For how long it was watched at most.
    let watchedMs: Double
    /// How it ended; nil: it did not.
    var ended: Reaction?
    /// Pings of the server's own.
    var serverPings = 0
    /// What it sent otherwise.
    var serverMessages = 0
    /// How often a second connection, which was watched for longer than the first lived, sent a ping; nil: there was none.
    var pingEveryMs: Double?
    /// Whether that one lived.
    var isKeptByPings: Bool?
}
