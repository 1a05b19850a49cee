/// A number that WAMP gives to sessions, requests, subscriptions, registrations and publications: 1 to 2^53.
///
/// Ids of session scope go up by one from 1, in each direction; those of global scope are drawn by chance. Source: WAMP, "Identifiers".
public typealias WAMPID = UInt64

extension WAMPID {
    /// The largest id, 2^53: what a double still holds exactly.
    public static var largestWAMPID: WAMPID { 1 << 53 }
}
