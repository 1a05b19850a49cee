import HoldfastProtocols

/// Who gets the outcome of a request; exactly once.
typealias WAMPReply<Value: Sendable> = Reply<Value, WAMPError>

/// A request in words.
struct WAMPRequest: Sendable, CustomStringConvertible {
    let kind: String
    let uri: String

    var description: String { "\(kind) \(uri)" }
}
