extension CloseCode {
    /// The name, in lower case, such as `normal closure`.
    public var name: String { words.name }

    /// One sentence that says what the code means.
    public var meaning: String { words.meaning }

    private var words: (name: String, meaning: String) {
        switch rawValue {
        case 1000: ("normal closure", "The purpose of the connection has been fulfilled.")
        case 1001: ("going away", "The server goes down, or the user has left the page.")
        case 1002: ("protocol error", "The other side broke the WebSocket protocol.")
        case 1003: ("unsupported data", "A kind of data came that cannot be accepted, such as binary where only text is known.")
        case 1004: ("reserved", "The code is reserved and must not be sent.")
        case 1005: ("no status", "The close frame had no code; this one is never sent.")
        case 1006: ("abnormal closure", "The connection was lost without a close frame; this code is never sent.")
        case 1007: ("invalid payload", "A message does not fit its kind, such as text that is not UTF-8.")
        case 1008: ("policy violation", "A message breaks the policy of the side that closed.")
        case 1009: ("message too big", "A message is too big to process.")
        case 1010: ("mandatory extension", "The client needs an extension that the server did not accept.")
        case 1011: ("internal error", "An unexpected condition kept the side that closed from going on.")
        case 1012: ("service restart", "The service restarts; reconnect after a random delay.")
        case 1013: ("try again later", "The service is overloaded; reconnect later.")
        case 1014: ("bad gateway", "A gateway got an invalid answer from the server behind it.")
        case 1015: ("TLS handshake failure", "The TLS handshake failed; this code is never sent.")
        case 3000: ("unauthorized", "The endpoint needs authorization that the request did not bring.")
        case 3003: ("forbidden", "The endpoint refuses this user.")
        case 3008: ("timeout", "The endpoint waited too long for the other side.")
        case 3000...3999: ("registered code", "The code belongs to a registered library or framework.")
        case 4000...4999: ("application code", "The code belongs to the application.")
        case 0..<1000: ("invalid code", "Codes below 1000 are not used.")
        case 1016...2999: ("unassigned", "The code is kept for future versions of the protocol and must not be sent.")
        default: ("invalid code", "Codes above 4999 are not used.")
        }
    }
}
