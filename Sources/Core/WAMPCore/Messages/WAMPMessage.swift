public import CodecCore

/// A message of WAMP v2: the basic profile, and the advanced features that this library supports.
///
/// Dictionaries keep unknown attributes; these are ignored, never refused. Source: WAMP, "Messages".
public enum WAMPMessage: Hashable, Sendable {
    /// 1: a client asks to join a realm.
    case hello(realm: String, details: ValueMap)
    /// 2: the router accepts the client in the realm.
    case welcome(session: WAMPID, details: ValueMap)
    /// 3: either side ends the session at once; never answered.
    case abort(details: ValueMap, reason: String, WAMPArguments)
    /// 4: the router asks the client to authenticate.
    case challenge(method: String, extra: ValueMap)
    /// 5: the client's answer to the challenge.
    case authenticate(signature: String, extra: ValueMap)
    /// 6: either side leaves the realm; answered with the same.
    case goodbye(details: ValueMap, reason: String, WAMPArguments)
    /// 8: a request failed.
    case error(WAMPRequestKind, request: WAMPID, details: ValueMap, uri: String, WAMPArguments)
    /// 16: a client publishes an event to all subscribers of a topic.
    case publish(request: WAMPID, options: ValueMap, topic: String, WAMPArguments)
    /// 17: the router has accepted the event, and gives its publication ID.
    case published(request: WAMPID, publication: WAMPID)
    /// 32: a client subscribes to a topic, or to a pattern of topics.
    case subscribe(request: WAMPID, options: ValueMap, topic: String)
    /// 33: the subscription exists from now on, under this ID.
    case subscribed(request: WAMPID, subscription: WAMPID)
    /// 34: a client ends a subscription.
    case unsubscribe(request: WAMPID, subscription: WAMPID)
    /// 35: the subscription has ended.
    ///
    /// With request 0 the router itself ended the subscription; the details say which one and why.
    case unsubscribed(request: WAMPID, details: ValueMap)
    /// 36: an event of a subscription.
    case event(subscription: WAMPID, publication: WAMPID, details: ValueMap, WAMPArguments)
    /// 48: a client calls a procedure. The same request again continues a call with progressive input.
    case call(request: WAMPID, options: ValueMap, procedure: String, WAMPArguments)
    /// 49: the caller no longer wants the result of this call.
    case cancel(request: WAMPID, options: ValueMap)
    /// 50: the result of a call, or with `progress` a part of it.
    case result(request: WAMPID, details: ValueMap, WAMPArguments)
    /// 64: a client registers a procedure, or a pattern of procedures.
    case register(request: WAMPID, options: ValueMap, procedure: String)
    /// 65: the registration exists from now on, under this ID.
    case registered(request: WAMPID, registration: WAMPID)
    /// 66: a client ends a registration.
    case unregister(request: WAMPID, registration: WAMPID)
    /// 67: the registration has ended.
    ///
    /// With request 0 the router itself ended the registration; the details say which one and why.
    case unregistered(request: WAMPID, details: ValueMap)
    /// 68: the router calls a procedure of this client. The same request again brings more input.
    case invocation(request: WAMPID, registration: WAMPID, details: ValueMap, WAMPArguments)
    /// 69: the caller no longer wants the result of this invocation.
    case interrupt(request: WAMPID, options: ValueMap)
    /// 70: the result of an invocation, or with `progress` a part of it.
    case yield(request: WAMPID, options: ValueMap, WAMPArguments)
}

extension WAMPMessage {
    /// The type number of the message on the wire.
    public var type: UInt64 {
        switch self {
        case .hello: 1
        case .welcome: 2
        case .abort: 3
        case .challenge: 4
        case .authenticate: 5
        case .goodbye: 6
        case .error: 8
        case .publish: 16
        case .published: 17
        case .subscribe: 32
        case .subscribed: 33
        case .unsubscribe: 34
        case .unsubscribed: 35
        case .event: 36
        case .call: 48
        case .cancel: 49
        case .result: 50
        case .register: 64
        case .registered: 65
        case .unregister: 66
        case .unregistered: 67
        case .invocation: 68
        case .interrupt: 69
        case .yield: 70
        }
    }

    /// The name of the message in the specification, such as `PUBLISH`.
    public var name: String { Self.name(ofType: type) ?? "" }

    /// Returns the name of a message type in the specification; nil if there is none.
    static func name(ofType type: UInt64) -> String? { names[type] }

    private static let names: [UInt64: String] = [
        1: "HELLO", 2: "WELCOME", 3: "ABORT", 4: "CHALLENGE", 5: "AUTHENTICATE", 6: "GOODBYE", 8: "ERROR", 16: "PUBLISH",
        17: "PUBLISHED", 32: "SUBSCRIBE", 33: "SUBSCRIBED", 34: "UNSUBSCRIBE", 35: "UNSUBSCRIBED", 36: "EVENT", 48: "CALL", 49: "CANCEL",
        50: "RESULT", 64: "REGISTER", 65: "REGISTERED", 66: "UNREGISTER", 67: "UNREGISTERED", 68: "INVOCATION", 69: "INTERRUPT",
        70: "YIELD",
    ]
}

/// The kinds of requests that an ERROR can answer, each with its message type.
public enum WAMPRequestKind: UInt64, Hashable, Sendable, CaseIterable {
    /// PUBLISH with a request for an acknowledgement.
    case publish = 16
    /// SUBSCRIBE.
    case subscribe = 32
    /// UNSUBSCRIBE.
    case unsubscribe = 34
    /// CALL.
    case call = 48
    /// REGISTER.
    case register = 64
    /// UNREGISTER.
    case unregister = 66
    /// INVOCATION, which the callee answers to the dealer.
    case invocation = 68
}

/// An ID of a session, request, subscription, registration or publication in WAMP: 1 to 2^53.
///
/// IDs of session scope count up from 1, in each direction; IDs of global scope are random. Source: WAMP, "Identifiers".
public typealias WAMPID = UInt64

extension WAMPID {
    /// The largest ID, 2^53, which a double still holds exactly.
    public static var largestWAMPID: WAMPID { 1 << 53 }
}
