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

    /// Why, or that it was in peace.
    public var description: String { error?.description ?? "in peace" }
}
