public import WebSocketCore

/// Decides which losses are worth another attempt.
///
/// This is the only place that separates transient from permanent failures.
///
/// | Cause | Verdict of ``standard`` |
/// |---|---|
/// | status 401 | refresh credentials |
/// | status 408, 425, 429, 500 to 599 except 501 and 505 | retry |
/// | any other status, such as 301, 403, 404, 410, 501 | final |
/// | closed by the peer with 1000 | final |
/// | 1001, 1005, 1006, 1009, 1011, 1012, 1013, 1014, 3008 | retry |
/// | 1002, 1003, 1007, 1010, 1015, 3003 | final |
/// | 1008, 3000 | refresh credentials |
/// | 4000 to 4999 (application codes) | final |
/// | any other, unassigned code | retry |
/// | closed by this side, any code | final |
/// | lost, unresponsive, stalled | retry |
/// | the peer sent a message beyond the limit | retry |
/// | timed out, name not resolved, refused or no route | retry |
/// | TLS failed, invalid handshake, protocol violation, invalid configuration | final |
/// | credentials not provided | as the provider says |
///
/// A message that is too long for either side (1009) ends only its connection. This side does not send it again, so other users of the
/// socket are not affected. If the peer sends such a message again and again, the backoff grows.
///
/// An app can change single entries:
///
/// ```swift
/// var losses = LossTable.standard
/// losses[.refused(status: 404)] = .retry       // Deploys take the path away for a moment.
/// losses[.closed(.normal)] = .retry            // This server says 1000 for everything.
/// losses[.tls] = .retry                        // Captive portals.
/// losses[.messageTooBig] = .final              // A feed that sends it first thing, on each connection.
/// ```
///
/// Sources: RFC 9110 §15, RFC 6455 §7.4.1 and the IANA WebSocket Close Code registry.
public struct LossTable: Hashable, Sendable {
    /// What a loss means for the next attempt.
    public enum Verdict: Hashable, Sendable {
        /// The failure may be temporary: try again after a wait.
        case retry
        /// Try again after a wait with new credentials. Final if there is no provider, or if the refused credentials were already new.
        case refreshCredentials
        /// Another attempt would fail in the same way.
        case final
    }

    /// The table above, unchanged.
    public static let standard = LossTable()

    /// The entries that differ from the standard.
    private var changes: [LossCause: Verdict] = [:]

    private init() {}

    /// The verdict on a cause.
    public subscript(cause: LossCause) -> Verdict {
        get { changes[cause] ?? Self.standardVerdict(on: cause) }
        set { changes[cause] = newValue == Self.standardVerdict(on: cause) ? nil : newValue }
    }

    private static func standardVerdict(on cause: LossCause) -> Verdict {
        switch cause {
        case .refused(let status): verdict(onStatus: status)
        case .closed(_, by: .local): .final
        case .closed(let code, by: .remote): verdict(onCode: code.rawValue)
        case .lost, .unresponsive, .stalled, .messageTooBig, .timedOut, .unresolved, .unreachable: .retry
        case .tls, .invalidHandshake, .protocolViolation, .invalidConfiguration: .final
        case .credentials(let isRetryable): isRetryable ? .retry : .final
        }
    }

    private static func verdict(onStatus status: Int) -> Verdict {
        switch status {
        case 401: .refreshCredentials
        case 408, 425, 429: .retry
        case 501, 505: .final
        case 500...599: .retry
        default: .final
        }
    }

    private static func verdict(onCode code: UInt16) -> Verdict {
        switch code {
        case 1008, 3000: .refreshCredentials
        case 1000, 1002, 1003, 1007, 1010, 1015, 3003, 4000...4999: .final
        default: .retry
        }
    }
}

/// Why a connection, or an attempt at one, was lost.
public enum LossCause: Hashable, Sendable {
    /// The server answered the upgrade with this HTTP status instead of 101.
    case refused(status: Int)
    /// The connection closed with this code. `by` says which side sent the first close frame.
    ///
    /// `.local` means that this side closed it on purpose. If a fault caused the close, such as silence or a protocol violation, that fault
    /// is the cause instead.
    case closed(CloseCode, by: CloseRecord.Side = .remote)
    /// The link ended without a close frame (1006).
    case lost
    /// The peer did not answer a ping in time.
    case unresponsive
    /// The peer stopped reading for longer than allowed.
    case stalled
    /// A time limit ended while connecting or during the handshake.
    case timedOut
    /// The host's name could not be resolved.
    case unresolved
    /// No connection could be made: refused, no route, network down.
    case unreachable
    /// TLS failed: an unknown authority, a wrong host, an expired certificate, no common version.
    case tls
    /// The opening handshake was malformed, or the peer agreed to something that was not offered.
    case invalidHandshake
    /// The peer violated RFC 6455 after the handshake, or a limit other than the message size.
    case protocolViolation
    /// The peer sent a message or frame that is longer than this side accepts. This side closed with 1009.
    case messageTooBig
    /// The URL or the configuration is invalid or not supported.
    case invalidConfiguration
    /// The app could not provide credentials. The provider says whether a retry can help.
    case credentials(isRetryable: Bool)
}

/// A lost connection or failed attempt, with its cause.
public struct Loss: Hashable, Sendable {
    /// The cause.
    public var cause: LossCause
    /// How long the server asks the client to wait, see `HeaderFields.retryAfter`; nil if it does not say.
    public var retryAfter: Duration?
    /// Whether the link broke while a ping was unanswered: a middlebox may have dropped the idle connection.
    public var wasIdle: Bool

    /// Creates a loss with this cause.
    public init(_ cause: LossCause, retryAfter: Duration? = nil, wasIdle: Bool = false) {
        (self.cause, self.retryAfter, self.wasIdle) = (cause, retryAfter, wasIdle)
    }
}

/// A date and time in an HTTP format (RFC 9110 §5.6.7).
///
/// The weekday must be a valid name, but it is not compared with the date.
struct HTTPDate: Hashable, Sendable {
    /// The maximum length of a date in bytes.
    static let longest = 64

    let secondsSince1970: Int64
    let year: Int

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///
    /// A two-digit year means the year with these last digits that is at most 50 years after `near` and less than 50 years before it.
    init?(_ text: String, near: Int = 2020) {
        guard text.utf8.count <= Self.longest else { return nil }
        let parts = text.split(separator: " ")
        switch parts.count {
        case 6 where Self.weekdays.contains { parts[0] == $0.prefix(3) + "," } && parts[5] == "GMT":  // IMF-fixdate
            self.init(day: parts[1].number(2...2), month: parts[2], year: parts[3].number(4...4), time: parts[4])
        case 5 where Self.weekdays.contains { parts[0] == $0.prefix(3) }:  // asctime
            self.init(day: parts[2].number(1...2), month: parts[1], year: parts[4].number(4...4), time: parts[3])
        case 4 where Self.weekdays.contains { parts[0] == $0 + "," } && parts[3] == "GMT":  // RFC 850
            let date = parts[1].split(separator: "-", omittingEmptySubsequences: false)
            guard date.count == 3, let ending = date[2].number(2...2) else { return nil }
            let latest = near + 50
            let year = latest - ((latest - ending) % 100 + 100) % 100
            self.init(day: date[0].number(2...2), month: date[1], year: year, time: parts[2])
        default: return nil
        }
    }

    private init?(day: Int?, month: Substring, year: Int?, time: Substring) {
        let time = time.split(separator: ":", omittingEmptySubsequences: false).map { $0.number(2...2) ?? .max }
        guard let day, let year, year >= 1, let month = Self.months.firstIndex(of: month).map({ $0 + 1 }),
            1...Self.days(inMonth: month, year: year) ~= day,
            time.count == 3, time[0] < 24, time[1] < 60, time[2] <= 60  // 60 is a leap second.
        else { return nil }
        self.year = year
        secondsSince1970 = Int64(((Self.days(year, month, day) * 24 + time[0]) * 60 + time[1]) * 60 + time[2])
    }

    /// Returns the days since 1970-01-01 in the Gregorian calendar.
    ///
    /// The year starts in March, so that the leap day is its last day.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let (year, month) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        return year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469
    }

    private static func days(inMonth month: Int, year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    private static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let months: [Substring] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}

extension Substring {
    /// The number, if the text consists only of this many decimal digits.
    fileprivate func number(_ count: ClosedRange<Int>) -> Int? {
        count ~= utf8.count && utf8.allSatisfy { 0x30...0x39 ~= $0 } ? Int(self) : nil
    }
}

extension HeaderFields {
    /// How long the server asks the client to wait, from `Retry-After` (RFC 9110 §10.2.3); nil if the field is missing or invalid.
    ///
    /// The value is a number of seconds, or a date in any of the three forms of §5.6.7. A date is measured from the response's own `Date`,
    /// so the clocks of both sides need not agree. Without a `Date` field, a date is ignored. The result is never negative and at most 2³¹
    /// − 1 s.
    public var retryAfter: Duration? {
        guard let value = self["Retry-After"], value.utf8.count <= HTTPDate.longest else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) { return bounded(Int64(value) ?? .max) }
        guard let sent = self["Date"].flatMap({ HTTPDate($0) }), let date = HTTPDate(value, near: sent.year) else { return nil }
        return bounded(date.secondsSince1970 - sent.secondsSince1970)
    }

    private func bounded(_ seconds: Int64) -> Duration { .seconds(seconds > 0 ? Int64(Int32(clamping: seconds)) : 0) }
}
