public import WebSocketCore

/// How a ``WebSocket`` ended for good.
public struct Closure: Sendable, CustomStringConvertible {
    /// Why no further attempt is made; nil if this side closed, or the peer did with 1000.
    public let error: WebSocketError?
    /// Both close codes and who closed first; nil if there was no connection at the end.
    public let record: CloseRecord?

    /// An end, as a ``WebSocket`` tells it; for tests of what hears of it.
    public init(error: WebSocketError? = nil, record: CloseRecord? = nil) { (self.error, self.record) = (error, record) }

    /// The code this side sent; nil if it sent none.
    public var sentCode: CloseCode? { record?.sent?.code }
    /// The code the peer sent; nil if it sent none.
    public var receivedCode: CloseCode? { record?.received?.code }
    /// Who closed first; nil if nobody did.
    public var closedFirst: CloseRecord.Side? { record?.closedFirst }

    /// The code that the peer closed with: 1005 if it named none, 1006 if it said nothing; nil if there was no connection at the end.
    public var code: CloseCode? { record?.code }
    /// What the peer gave as its reason, else what this side did; empty if nobody gave one.
    ///
    /// It may be the peer's text: escape it where that matters.
    public var reason: String { [record?.received?.reason, record?.sent?.reason].compactMap(\.self).first { !$0.isEmpty } ?? "" }
    /// Whether both sides had said goodbye before the link ended; false if there was no connection at the end.
    public var wasClean: Bool { record?.isClean ?? false }

    /// Why, or that it was in peace, and the code; the peer's reason is left out.
    public var description: String {
        guard let error else { return code.map { "in peace, \($0)" } ?? "in peace" }
        return "\(error)"
    }
}
