extension WAMPMessage {
    /// What the specification calls the message, such as `PUBLISH`.
    public var name: String { Self.name(ofType: type) ?? "" }

    /// What the specification calls messages of this number; nil if it has none.
    static func name(ofType type: UInt64) -> String? {
        switch type {
        case 1: "HELLO"
        case 2: "WELCOME"
        case 3: "ABORT"
        case 4: "CHALLENGE"
        case 5: "AUTHENTICATE"
        case 6: "GOODBYE"
        case 8: "ERROR"
        case 16: "PUBLISH"
        case 17: "PUBLISHED"
        case 32: "SUBSCRIBE"
        case 33: "SUBSCRIBED"
        case 34: "UNSUBSCRIBE"
        case 35: "UNSUBSCRIBED"
        case 36: "EVENT"
        case 48: "CALL"
        case 49: "CANCEL"
        case 50: "RESULT"
        case 64: "REGISTER"
        case 65: "REGISTERED"
        case 66: "UNREGISTER"
        case 67: "UNREGISTERED"
        case 68: "INVOCATION"
        case 69: "INTERRUPT"
        case 70: "YIELD"
        default: nil
        }
    }
}
