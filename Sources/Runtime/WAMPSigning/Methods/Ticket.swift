/// Tickets: what a client shows as it is.
///
/// Source: WAMP, "Ticket-based Authentication".
public enum Ticket {
    /// Whether a ticket is the one that is known; how long it takes does not say how much of it is right.
    public static func isGenuine(_ ticket: String, known: String) -> Bool { KeyedHash.areEqual(ticket, known) }
}
