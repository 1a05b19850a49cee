public import WebSocketCore

extension HeaderFields {
    /// How long the server asks to be left alone, by its `Retry-After` field (RFC 9110 §10.2.3); nil if there is none or it is nonsense.
    ///
    /// Either seconds, or a date in any of the three forms of §5.6.7. A date counts from the response's own `Date`, so the clocks of the
    /// two sides need not agree; without one it means nothing. Never negative, and at most 2³¹ − 1 s.
    public var retryAfter: Duration? {
        guard let value = self["Retry-After"], value.utf8.count <= HTTPDate.longest else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) { return bounded(Int64(value) ?? .max) }
        guard let sent = self["Date"].flatMap({ HTTPDate($0) }), let date = HTTPDate(value, near: sent.year) else { return nil }
        return bounded(date.secondsSince1970 - sent.secondsSince1970)
    }

    private func bounded(_ seconds: Int64) -> Duration { .seconds(seconds > 0 ? Int64(Int32(clamping: seconds)) : 0) }
}
