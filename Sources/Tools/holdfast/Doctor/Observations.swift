import Holdfast
import MachineCore

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

/// Which proxy is on our side of the way.
struct ProxyView: Encodable, Hashable, Sendable {
    /// Without name and password.
    let url: String
    /// Whether the environment named it, and not the command line.
    let isFromEnvironment: Bool
}

/// What a name led to.
struct Resolution: Encodable, Hashable, Sendable {
    /// One address, and whether TCP could be opened to it.
    struct Address: Encodable, Hashable, Sendable {
        let address: String
        /// `IPv4` or `IPv6`.
        let family: String
        /// How long TCP took; nil: it could not be opened.
        var connectMs: Double?
        var error: String?
    }

    let host: String
    var lookupMs: Double
    /// In the order in which the system would have them tried.
    var addresses: [Address] = []
    /// Why there is no address.
    var error: String?

    var answering: [Address] { addresses.filter { $0.connectMs != nil } }
    /// The families with addresses of which not one answered.
    var deadFamilies: [String] {
        Set(addresses.map(\.family)).subtracting(answering.map(\.family)).sorted()
    }
}

/// What came of asking for a WebSocket.
struct UpgradeView: Encodable, Hashable, Sendable {
    struct Field: Encodable, Hashable, Sendable {
        let name: String
        let value: String
    }

    /// Why there is no WebSocket.
    struct Failure: Encodable, Hashable, Sendable {
        /// A code of `TransportError`, such as `refused`.
        let code: String
        let text: String
        /// The first bytes of what came with a refusal.
        var body = ""
    }

    /// What the socket was connected to, such as `[::1]:9001`: the server or the proxy.
    var remote: String?
    /// TCP, with the lookup of the name, and with the proxy if there is one.
    var connectMs: Double?
    var tlsMs: Double?
    /// From the request until the answer.
    var answerMs: Double?
    /// Such as `HTTP/1.1`.
    var httpVersion: String?
    var status: Int?
    var reason: String?
    var headers: [Field] = []
    /// As they may be shown, like the one that was chosen.
    private(set) var subprotocolsOffered: [String] = []
    private(set) var subprotocol: String?
    private(set) var extensions: [String] = []
    var failure: Failure?

    /// Takes over what the answer says; credentials in it are left out.
    mutating func take(_ response: ResponseHead) {
        (status, reason, httpVersion) = (response.status, response.reason, "HTTP/1.\(response.minorVersion)")
        headers = response.headers.map { Field(name: $0.name, value: $0.shownValue) }
    }

    /// Takes over what is offered; a name that may carry a token is left out.
    mutating func offer(_ subprotocols: [String]) { subprotocolsOffered = subprotocols.map(Secrecy.subprotocol) }

    /// Takes over what was agreed on.
    mutating func take(_ agreement: Agreement) {
        (subprotocol, extensions) = (agreement.subprotocol.map(Secrecy.subprotocol), agreement.extensions)
    }

    /// The values of one field.
    func values(_ name: String) -> [String] { headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value) }
}

/// What came of another request than the one asked for.
struct RequestView: Encodable, Hashable, Sendable {
    /// Whether there was a WebSocket.
    let isAccepted: Bool
    var status: Int?
    /// Why there was neither a WebSocket nor a status.
    var error: String?
}

/// Who answered a request that is no HTTP/1.1, and how; without a status nobody did.
struct MalformedView: Encodable, Hashable, Sendable {
    var status: Int?
    /// As he calls himself.
    var server: String?
}

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

/// What TLS showed.
struct SecurityView: Encodable, Hashable, Sendable {
    /// One certificate of the chain.
    struct Certificate: Encodable, Hashable, Sendable {
        let subject: String
        let issuer: String
        /// The names and addresses that it is for.
        let names: [String]
        /// Such as `2027-06-30`.
        let notBefore: String
        let notAfter: String
        /// Whole days that are left; negative once it has expired.
        let daysLeft: Int
        let key: String
        let signature: String
        let publicKeyPin: String
        let certificatePin: String
        let isSelfIssued: Bool
        /// What of it is too weak, in words.
        let weaknesses: [String]
    }

    /// Why the chain is not trusted.
    struct Distrust: Encodable, Hashable, Sendable {
        /// A code of `TransportError`, such as `certificateExpired`.
        let code: String
        let text: String
    }

    /// Such as `1.3`.
    var version: String?
    /// The server's own first.
    var chain: [Certificate] = []
    /// Whether it chooses HTTP/2 where that is offered besides HTTP/1.1.
    var choosesHTTP2 = false
    var distrust: Distrust?
    /// Whether anything is taken for trustworthy (`--insecure`).
    var isUnverified = false
    var handshakeMs: Double?
}

extension SecurityView.Certificate {
    /// - Parameter now: Seconds since 1970.
    init(_ certificate: ServerCertificate, now: Int64) {
        (subject, issuer, isSelfIssued) = (certificate.subject, certificate.issuer, certificate.isSelfIssued)
        names = certificate.dnsNames + certificate.addresses.map(\.writtenAddress)
        notBefore = "\(CalendarDate(secondsSince1970: certificate.notBefore))"
        notAfter = "\(CalendarDate(secondsSince1970: certificate.notAfter))"
        let seconds = certificate.notAfter - now
        daysLeft = Int(seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400)
        (key, signature) = ("\(certificate.keyKind)", certificate.signature)
        (publicKeyPin, certificatePin) = ("\(certificate.publicKeyPin)", "\(certificate.certificatePin)")
        var weaknesses: [String] = []
        if case .rsa(let bits) = certificate.keyKind, bits < 2048 { weaknesses.append("an RSA key of only \(bits) bits") }
        if certificate.isWeaklySigned { weaknesses.append("signed with \(certificate.signature), which can be forged") }
        self.weaknesses = weaknesses
    }
}

extension [UInt8] {
    /// An address of 4 or 16 bytes as people write it, without shortening.
    fileprivate var writtenAddress: String {
        if count == 4 { return map { String($0) }.joined(separator: ".") }
        return stride(from: 0, to: count - 1, by: 2).map { String(UInt16(self[$0]) << 8 | UInt16(self[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }
}

extension Duration {
    /// In milliseconds, to a hundredth: as reports have it.
    var ms: Double { (milliseconds * 100).rounded() / 100 }
}

extension Double {
    /// So many milliseconds as people read them: `0.42 ms`, `1.25 s`.
    var msPhrase: String { Duration.nanoseconds(Int64((self * 1e6).rounded())).phrase }
}
