/// What a client asks for; see docs/quotes-protocol.md.
///
/// Nothing is checked yet but the types.
package enum QuotesRequest: Hashable, Sendable {
    /// Show these symbols, at most `rate` updates a second; nil: as before, 0: without limit.
    case subscribe(id: Int64, symbols: [String], rate: Int64?)
    /// Show those of this subscription no more.
    case unsubscribe(id: Int64)
    /// Something was lost: send everything in full again, with this number.
    case resync(round: Int64)
}
