/// What happens, for any number of consumers.
///
/// Each loop over one of these sequences is a consumer with a buffer of its own. The first one sees everything from the start, a later
/// one what comes from then on; when the last one leaves, or its task is cancelled, what it had not taken waits for the next. A
/// consumer reads by itself when it has nothing to take and nobody else reads, so a lone one costs no task and no buffer. With nobody
/// to follow, nothing is read ahead beyond ``WebSocketLimits/receiveBuffer``, and after eight losses no further attempt is made until
/// somebody does.
///
/// The sequences keep the socket alive, and end when the task is cancelled.
extension WebSocket {
    /// What happens, in order, ending after ``WebSocketEvent/closed(_:)``; a consumer that is slow holds up the others and the peer.
    ///
    /// Messages of a connection come before the news of its loss.
    public var events: WebSocketEvents { events(buffering: .suspend()) }

    /// What happens, in order, ending after ``WebSocketEvent/closed(_:)``.
    ///
    /// - Parameter buffering: What becomes of events that come while the consumer is busy.
    public func events(buffering: EventBuffering) -> WebSocketEvents { WebSocketEvents(socket: self, buffering: buffering) }

    /// What the peer sends, whichever connection it comes over, and nothing else.
    ///
    /// Ends in peace when this side closed, or the peer did with 1000; otherwise throws why no further attempt is made. Answers to
    /// a ``request(_:matching:timeout:)-(Message,_,_)`` are not among them.
    public var messages: WebSocketInbox { messages(buffering: .suspend()) }

    /// What the peer sends, as ``messages``; that a message was dropped is not told.
    ///
    /// - Parameter buffering: What becomes of messages that come while the consumer is busy.
    public func messages(buffering: EventBuffering) -> WebSocketInbox { WebSocketInbox(socket: self, buffering: buffering) }
}
