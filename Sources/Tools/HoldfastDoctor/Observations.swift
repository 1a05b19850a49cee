import Holdfast
import HoldfastTerminal
import MachineCore

/// The observations about one server; values that were not examined or not visible are nil.
///
/// `--json` prints these names: later versions may add names, but change none. Times are in milliseconds.
struct Observations: Encodable, Sendable {
    /// A probe without a result, and the reason.
    struct Shortfall: Encodable, Hashable, Sendable {
        let probe: String
        let why: String
    }

    /// The URL without the query, which may contain credentials.
    var url: String
    var proxy: ProxyView?
    var resolution: Resolution?
    var security: SecurityView?
    var upgrade: UpgradeView?
    /// The subprotocols of GraphQL that the server speaks.
    var graphQL: [GraphQLView] = []
    var engineIO: EngineIOView?
    var pings: PingView?
    var close: CloseView?
    /// The reactions by the name of the sent message.
    var messages: [String: CloseReaction] = [:]
    var compression: CompressionView?
    var limit: LimitView?
    /// The upgrade on a path that no server is likely to serve.
    var unknownPath: RequestView?
    /// The upgrade with the origin of another site.
    var wrongOrigin: RequestView?
    /// A request without `Host`.
    var malformed: MalformedView?
    var idle: IdleView?
    var unfinished: [Shortfall] = []

    init(url: String) { self.url = url }

    subscript(_ trial: Trial) -> CloseReaction? {
        get { messages[trial.rawValue] }
        set { messages[trial.rawValue] = newValue }
    }
}

/// A message that is sent to observe how the server reacts.
enum Trial: String, CaseIterable, Sendable {
    case text, binary, fragmented, pingWithin, empty, invalidUTF8, unmasked

    /// The words for a sentence: "the server … on …".
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

/// The proxy on the client's side.
struct ProxyView: Encodable, Hashable, Sendable {
    /// The URL without name and password.
    let url: String
    /// Whether the proxy comes from the environment instead of the command line.
    let isFromEnvironment: Bool
}

/// The result of a name lookup.
struct Resolution: Encodable, Hashable, Sendable {
    /// One address, and whether a TCP connection to it succeeded.
    struct Address: Encodable, Hashable, Sendable {
        let address: String
        /// `IPv4` or `IPv6`.
        let family: String
        /// The time to open the TCP connection; nil: it failed.
        var connectMs: Double?
        var error: String?
    }

    let host: String
    var lookupMs: Double
    /// The addresses in the order in which the system prefers them.
    var addresses: [Address] = []
    /// The reason why there is no address.
    var error: String?

    var answering: [Address] { addresses.filter { $0.connectMs != nil } }
    /// The address families of which no address answered.
    var deadFamilies: [String] {
        Set(addresses.map(\.family)).subtracting(answering.map(\.family)).sorted()
    }
}

/// The result of the upgrade request.
struct UpgradeView: Encodable, Hashable, Sendable {
    struct Field: Encodable, Hashable, Sendable {
        let name: String
        let value: String
    }

    /// The reason why there is no WebSocket.
    struct Failure: Encodable, Hashable, Sendable {
        /// A code of `TransportError`, such as `refused`.
        let code: String
        let text: String
        /// The first bytes of a refusal's body.
        var body = ""
    }

    /// The address of the connected socket, such as `[::1]:9001`: the server or the proxy.
    var remote: String?
    /// The time for TCP, including the name lookup and a proxy.
    var connectMs: Double?
    var tlsMs: Double?
    /// The time from the request to the answer.
    var answerMs: Double?
    /// The version, such as `HTTP/1.1`.
    var httpVersion: String?
    var status: Int?
    var reason: String?
    var headers: [Field] = []
    /// The subprotocols with secrets masked, like the chosen one.
    private(set) var subprotocolsOffered: [String] = []
    private(set) var subprotocol: String?
    private(set) var extensions: [String] = []
    var failure: Failure?

    /// Copies the response, without credentials.
    mutating func take(_ response: ResponseHead) {
        (status, reason, httpVersion) = (response.status, response.reason, "HTTP/1.\(response.minorVersion)")
        headers = response.headers.map { Field(name: $0.name, value: $0.shownValue) }
    }

    /// Copies the offered subprotocols; masks names that may carry a token.
    mutating func offer(_ subprotocols: [String]) { subprotocolsOffered = subprotocols.map(Secrecy.subprotocol) }

    /// Copies the result of the handshake.
    mutating func take(_ agreement: Agreement) {
        (subprotocol, extensions) = (agreement.subprotocol.map(Secrecy.subprotocol), agreement.extensions)
    }

    /// Returns the values of one field.
    func values(_ name: String) -> [String] { headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value) }
}

/// The result of a changed request.
struct RequestView: Encodable, Hashable, Sendable {
    /// Whether a WebSocket was opened.
    let isAccepted: Bool
    var status: Int?
    /// The reason if there was neither a WebSocket nor a status.
    var error: String?
}

/// The answer to an invalid HTTP/1.1 request; without a status, there was none.
struct MalformedView: Encodable, Hashable, Sendable {
    var status: Int?
    /// The value of the answer's `Server` field.
    var server: String?
}

/// The reaction of a server to a message.
struct CloseReaction: Encodable, Hashable, Sendable {
    /// The kind of a reaction.
    enum Kind: String, Encodable, Hashable, Sendable {
        /// The same message came back.
        case echoed
        /// Another message came back.
        case answered
        /// No message came back, but a later ping was answered.
        case silent
        /// The server sent a close frame.
        case closed
        /// The server ended TCP without a close frame.
        case hungUp
        /// The server violated the protocol.
        case garbled
        /// There was no reaction at all.
        case nothing
    }

    var kind: Kind
    /// The code of the server's close frame; 1005 if it had none.
    var closeCode: Int?
    /// Further details: the reason of a close frame, or the answer.
    var detail: String?
    var ms: Double
    /// For a ping between fragments: whether the pong came before the message was complete.
    var isPongInTime: Bool?

    /// Whether the connection survived the message.
    var isSurvived: Bool { [.echoed, .answered, .silent].contains(kind) }
}

/// The results of the pings.
struct PingView: Encodable, Hashable, Sendable {
    var sent = 0
    var answered = 0
    /// Messages that arrived in the meantime without a request.
    var messages = 0
    var minMs: Double?
    var medianMs: Double?
    var p95Ms: Double?

    /// Creates a view from the round trips of the answered pings.
    init(sent: Int, roundTrips: [Double], messages: Int = 0) {
        let sorted = roundTrips.sorted()
        (self.sent, answered, self.messages) = (sent, sorted.count, messages)
        guard !sorted.isEmpty else { return }
        /// Nearest rank: with ten pings, the 95th percentile is the longest.
        func rank(_ part: Double) -> Double { sorted[max(0, Int((part * Double(sorted.count)).rounded(.up)) - 1)] }
        (minMs, medianMs, p95Ms) = (sorted[0], rank(0.5), rank(0.95))
    }
}

/// The reaction to a close frame with 1000.
struct CloseView: Encodable, Hashable, Sendable {
    var isAnswered = false
    /// The code of the answer; 1005 if it had none.
    var code: Int?
    var answerMs: Double?
    /// Whether the server ended TCP afterwards, as it should (RFC 6455 §7.1.1).
    var endsTCP = false
    /// The time since the close frame was sent.
    var endMs: Double?
}

/// The effect of permessage-deflate on a sample.
struct CompressionView: Encodable, Hashable, Sendable {
    /// Whether the server agreed; if not, the other values are nil.
    var isAgreed = false
    var serverNoContextTakeover: Bool?
    var clientNoContextTakeover: Bool?
    var serverMaxWindowBits: Int?
    var clientMaxWindowBits: Int?
    /// The size of the sample before and after compression, without frame headers.
    var sampleBytes: Int?
    var sentBytes: Int?
    /// The server's reaction to the sample; `echoed` proves that it could read it.
    var reaction: CloseReaction?
    /// The payload size of the echo on the wire; nil: there was none.
    var echoBytes: Int?
    /// Whether the echo was also compressed.
    var isEchoCompressed: Bool?
}

/// The maximum message size of a server.
struct LimitView: Encodable, Hashable, Sendable {
    /// The largest accepted size; nil: not even the smallest was accepted.
    var largestTaken: Int?
    /// The smallest refused size; nil: all were accepted.
    var smallestRefused: Int?
    /// The largest size to try.
    let cap: Int
    /// How the server refuses larger messages.
    var refusal: CloseReaction?
    /// `text` or `binary`.
    var sentAs = "binary"
    /// The proof that a message was accepted: its `echo`, or the `pong` of a ping after it.
    var proof = "echo"

    var isExact: Bool { largestTaken.flatMap { taken in smallestRefused.map { $0 == taken + 1 } } ?? false }
}

/// The outcome of a silent connection.
struct IdleView: Encodable, Hashable, Sendable {
    /// How long the connection was watched at most.
    let watchedMs: Double
    /// How the connection ended; nil: it did not.
    var ended: CloseReaction?
    /// Pings that the server sent.
    var serverPings = 0
    /// Messages that the server sent.
    var serverMessages = 0
    /// The ping interval of a second connection, which was watched longer than the first one lived; nil: there was none.
    var pingEveryMs: Double?
    /// Whether the second connection survived.
    var isKeptByPings: Bool?
}

/// The result of the TLS handshake.
struct SecurityView: Encodable, Hashable, Sendable {
    /// One certificate of the chain.
    struct Certificate: Encodable, Hashable, Sendable {
        let subject: String
        let issuer: String
        /// The names and addresses in the certificate.
        let names: [String]
        /// The date, such as `2027-06-30`.
        let notBefore: String
        let notAfter: String
        /// The remaining whole days; negative after the expiry.
        let daysLeft: Int
        let key: String
        let signature: String
        let publicKeyPin: String
        let certificatePin: String
        let isSelfIssued: Bool
        /// The weaknesses of the certificate, in words.
        let weaknesses: [String]
    }

    /// Why the chain is not trusted.
    struct TrustFailure: Encodable, Hashable, Sendable {
        /// A code of `TransportError`, such as `certificateExpired`.
        let code: String
        let text: String
    }

    /// The version, such as `1.3`.
    var version: String?
    /// The chain, with the server's own certificate first.
    var chain: [Certificate] = []
    /// Whether the server chooses HTTP/2 when both it and HTTP/1.1 are offered.
    var choosesHTTP2 = false
    var distrust: TrustFailure?
    /// Whether the chain is not verified (`--insecure`).
    var isUnverified = false
    var handshakeMs: Double?
}

extension SecurityView.Certificate {
    /// - Parameter now: The time in seconds since 1970.
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
    /// An IP address of 4 or 16 bytes in text form, without shortening.
    fileprivate var writtenAddress: String {
        if count == 4 { return map { String($0) }.joined(separator: ".") }
        return stride(from: 0, to: count - 1, by: 2).map { String(UInt16(self[$0]) << 8 | UInt16(self[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }
}

extension Duration {
    /// The duration in milliseconds, rounded to hundredths, as in reports.
    var ms: Double { (milliseconds * 100).rounded() / 100 }
}

extension Double {
    /// The number of milliseconds as text: `0.42 ms`, `1.25 s`.
    var msPhrase: String { Duration.nanoseconds(Int64((self * 1e6).rounded())).phrase }
}
