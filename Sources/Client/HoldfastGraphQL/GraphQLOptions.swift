public import Foundation
import GraphQLCore
public import Holdfast
import WebSocketCore

/// The options of a ``GraphQLClient``; the defaults suit an app.
public struct GraphQLOptions: Sendable {
    /// The protocols to offer, in order of preference; the server takes one.
    public var protocols: [GraphQLProtocol] = [.transportWS, .legacy]
    /// How long the server may take to acknowledge a connection.
    public var acknowledgementTimeout = Duration.seconds(10)
    /// How long ``GraphQLClient/query(_:within:)`` and ``GraphQLClient/mutate(_:within:)`` wait, if they say nothing else.
    ///
    /// The time without a connection counts.
    public var answerTimeout = Duration.seconds(30)
    /// The silence after which the client sends a ping of the protocol, which the legacy one does not have; nil: never.
    public var pingInterval: Duration? = .seconds(25)
    /// How long the server may be silent after a ping, before the client reconnects.
    public var pongTimeout = Duration.seconds(10)
    /// Whether the client connects only when the first operation begins, and not at once.
    public var connectsOnDemand = false
    /// How long a connection stays open without operations, before the next one connects again; nil: as long as the client.
    public var idleTimeout: Duration?
    /// How long the closure for the payload of `connection_init` may take; servers wait a few seconds.
    public var payloadTimeout = Duration.seconds(8)
    /// How many times in a row a server may refuse the connection before the client ends.
    ///
    /// Before each attempt the client asks for a new payload. Without a closure for the payload, the first refusal is final.
    public var refusals = 3
    /// The maximum number of operations at once.
    public var operationLimit = 10_000
    /// Encodes variables and payloads; do not change it afterwards.
    public var encoder = JSONEncoder()
    /// Decodes data; nil: `ValueDecoder` does, which is faster.
    ///
    /// `ValueDecoder` reads a `Date` as a text in the format of RFC 3339 or as seconds since 1970, and `Data` as Base64. It
    /// refuses data of more than 128 levels, which is then undecodable. Do not change a decoder that you set here afterwards.
    public var decoder: JSONDecoder?

    /// Creates the default options.
    public init() {}

    /// Prepares the options of a socket for GraphQL: its subprotocols, and when it reconnects.
    public func prepare(_ options: inout WebSocketOptions) {
        options.connection.subprotocols = protocols.map(\.rawValue)
        options.connection.requiresSubprotocol = true
        options.connectsAtOnce = !connectsOnDemand
        // The first message carries a token, which must not go to another origin by a redirect.
        options.connection.redirectsStayInOrigin = true
        // Servers close with these codes for a bad token or a bad operation too: this client's rules decide when to give up.
        for code in [1000] + Array(4400...4499 as ClosedRange<UInt16>) + [4500] where code != CloseCode.subprotocolNotAcceptable.rawValue {
            options.reconnect.losses[.closed(CloseCode(rawValue: code))] = .retry
        }
    }

    func policy(hasPayload: Bool) -> GraphQLPolicy {
        var policy = GraphQLPolicy()
        (policy.acknowledgement, policy.pingInterval, policy.pong) = (acknowledgementTimeout, pingInterval, pongTimeout)
        (policy.idle, policy.isLazy, policy.operationLimit) = (idleTimeout, connectsOnDemand, operationLimit)
        policy.refusals = hasPayload ? max(refusals, 1) : 1
        return policy
    }
}
