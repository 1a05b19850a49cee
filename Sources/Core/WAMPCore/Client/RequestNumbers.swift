/// The ids of a session's requests: 1, 2, 3… and after 2^53 from 1 again.
///
/// Source: WAMP, "Identifiers".
struct RequestNumbers: Hashable, Sendable {
    /// The last one that was used; 0: none.
    var last: WAMPID = 0
    var hasWrapped = false

    mutating func next() -> WAMPID {
        if last >= .largestWAMPID { (last, hasWrapped) = (0, true) }
        last += 1
        return last
    }

    /// Whether a request of this session had the id.
    func wereUsed(_ id: WAMPID) -> Bool { id > 0 && id <= (hasWrapped ? .largestWAMPID : last) }
}
