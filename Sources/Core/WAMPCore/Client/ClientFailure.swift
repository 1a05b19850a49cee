/// Why a request of the app's ended without what it asked for.
public enum ClientFailure: Error, Hashable, Sendable {
    /// The router or the callee answered with an error.
    case refused(uri: String, arguments: WAMPArguments)
    /// The connection was lost; whether the request may have been sent by then.
    case connectionLost(wasSent: Bool)
    /// Its time was over; whether it had been sent by then.
    case timedOut(wasSent: Bool)
    /// The app cancelled it; whether it had been sent by then.
    case cancelled(wasSent: Bool)
    /// There is no session, and it was not to wait for one.
    case notJoined
    /// The session has ended for good.
    case ended
    /// The URI breaks the rules; nothing was sent.
    case invalidURI(String)
    /// So many requests wait already; see ``ClientPolicy/maximumWaiting``.
    case tooManyWaiting
    /// The router lacks a feature that the request needs; nothing was sent.
    case unsupported(String)
}
