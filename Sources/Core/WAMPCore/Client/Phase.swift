extension ClientMachine {
    /// Where a client stands with its router.
    enum Phase: Hashable, Sendable {
        /// No connection; to `greeted`, or to `over`.
        case apart
        /// HELLO was sent; to `proving` with CHALLENGE, `joined` or `checking` with WELCOME.
        case greeted
        /// The app looks for its proof; to `greeted` with AUTHENTICATE.
        case proving(ClientHandle)
        /// The app checks the router's proof; to `joined`.
        case checking(ClientHandle)
        /// In the realm; to `leaving`, `dropping`, `apart`, `over`.
        case joined
        /// GOODBYE was sent; to `over`.
        case leaving
        /// The connection is to end; to `apart` once it has.
        case dropping
        /// For good.
        case over
    }

    /// What can be due.
    enum Alarm: Hashable, Sendable {
        /// The welcome.
        case join
        /// The answer to GOODBYE.
        case goodbye
        /// The end of a listener's patience.
        case listener(ClientHandle)
        /// The answer to a SUBSCRIBE that was sent again, or another try of it.
        case topic(Int)
        /// The end of a procedure's patience.
        case procedure(Int)
        /// Another try of a REGISTER.
        case registering(Int)
    }
}
