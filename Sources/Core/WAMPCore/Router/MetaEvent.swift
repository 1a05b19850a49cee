import CodecCore

/// What the router tells of itself to whoever subscribes.
///
/// Source: WAMP, "Meta API".
enum MetaEvent: Hashable, Sendable {
    /// Somebody has joined: `session`, `authid`, `authrole`, `authmethod`, `authprovider`, `transport`.
    case joined(details: ValueMap)
    case left(session: WAMPID, authID: String, authRole: String)
    /// With `id`, `created`, `uri`, `match`, `invoke`.
    case registrationCreated(by: WAMPID, details: ValueMap)
    case registered(WAMPID, registration: WAMPID)
    case unregistered(WAMPID, registration: WAMPID)
    case registrationDeleted(by: WAMPID, registration: WAMPID)
    /// With `id`, `created`, `uri`, `match`.
    case subscriptionCreated(by: WAMPID, details: ValueMap)
    case subscribed(WAMPID, subscription: WAMPID)
    case unsubscribed(WAMPID, subscription: WAMPID)
    case subscriptionDeleted(by: WAMPID, subscription: WAMPID)

    /// Where it is published.
    var topic: String {
        switch self {
        case .joined: "wamp.session.on_join"
        case .left: "wamp.session.on_leave"
        case .registrationCreated: "wamp.registration.on_create"
        case .registered: "wamp.registration.on_register"
        case .unregistered: "wamp.registration.on_unregister"
        case .registrationDeleted: "wamp.registration.on_delete"
        case .subscriptionCreated: "wamp.subscription.on_create"
        case .subscribed: "wamp.subscription.on_subscribe"
        case .unsubscribed: "wamp.subscription.on_unsubscribe"
        case .subscriptionDeleted: "wamp.subscription.on_delete"
        }
    }

    /// What it carries.
    var arguments: WAMPArguments {
        switch self {
        case .joined(let details): WAMPArguments([.map(details)])
        case .left(let session, let authID, let authRole): WAMPArguments([Value(session), .text(authID), .text(authRole)])
        case .registrationCreated(let session, let details), .subscriptionCreated(let session, let details):
            WAMPArguments([Value(session), .map(details)])
        case .registered(let session, let id), .unregistered(let session, let id), .registrationDeleted(let session, let id),
            .subscribed(let session, let id), .unsubscribed(let session, let id), .subscriptionDeleted(let session, let id):
            WAMPArguments([Value(session), Value(id)])
        }
    }
}
