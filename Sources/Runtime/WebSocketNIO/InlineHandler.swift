public import WebSocketCore
public import WebSocketRuntime

/// Handles a connection directly on its event loop: the fastest way, for code that never blocks and never waits.
///
/// No memory is allocated for a message, and no task is woken. In return, everything on the same event loop waits while one of these
/// methods runs. A handler belongs to one connection, and its methods are never called concurrently.
public protocol InlineHandler: AnyObject {
    /// Called when the connection is open.
    func opened(_ socket: InlineSocket)

    /// Called for each complete message; the UTF-8 of a text was validated.
    ///
    /// `bytes` are valid until this method returns. While the socket does not accept the sent data, no further message is delivered, so
    /// replies to a peer that does not read cannot pile up. If both ends only send, each more than the sockets buffer, they wait for each
    /// other until one of them fails as stalled.
    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket)

    /// Called after a message was refused, when there is room again.
    func writable(_ socket: InlineSocket)

    /// Called when the connection has ended, with how it closed or why it failed.
    ///
    /// This is the last call, and happens exactly once.
    func ended(_ result: Result<CloseRecord, TransportError>)
}

extension InlineHandler {
    /// Does nothing.
    public func opened(_ socket: InlineSocket) {}

    /// Does nothing.
    public func writable(_ socket: InlineSocket) {}

    /// Does nothing.
    public func ended(_ result: Result<CloseRecord, TransportError>) {}
}

/// An open connection for its ``InlineHandler``; must be used only on its event loop.
public final class InlineSocket {
    /// The result of the opening handshake.
    public let agreement: Agreement
    /// Nil once the connection has ended.
    ///
    /// SAFETY: the handler removes itself from here before it is released.
    var handler: Unmanaged<WebSocketHandler>?

    init(_ agreement: Agreement) { self.agreement = agreement }

    /// Sends a message, together with everything else that is sent in this turn of the event loop.
    ///
    /// Returns false if the message was refused because the send buffer is full, or because the connection is closing. In the first case,
    /// ``InlineHandler/writable(_:)`` is called when there is room. A text must be UTF-8. A long message whose bytes lie in the message
    /// just received is not copied.
    @discardableResult
    public func send(_ kind: MessageKind, _ bytes: RawSpan) -> Bool {
        guard let handler else { return false }
        return handler._withUnsafeGuaranteedRef { handler in bytes.withUnsafeBytes { handler.sendInline(kind, $0) } }
    }

    /// Sends a message in the same way as ``send(_:_:)``.
    @discardableResult
    public func send(_ message: Message) -> Bool {
        guard let handler else { return false }
        return message.withBytes { handler.takeUnretainedValue().sendInline(message.kind, $0) }
    }

    /// Sends a message that is meant for many sockets, in the same way as ``send(_:_:)``.
    ///
    /// Its bytes are not copied if they can be sent unchanged, unless they are few and are sent together with others.
    @discardableResult
    package func send(_ message: SharedMessage) -> Bool {
        guard let handler else { return false }
        return handler._withUnsafeGuaranteedRef { $0.sendInline(message) }
    }

    /// Stops delivering messages after the current one, until ``resumeReceiving()``; TCP slows the peer down.
    ///
    /// Pings wait meanwhile, too. A closing connection continues to read.
    public func pauseReceiving() { handler?.takeUnretainedValue().isHeld = true }

    /// Limits the length of messages from here on, up to the limit of the settings, which applies if `length` is nil.
    ///
    /// A message that has begun is checked as well when more of it arrives.
    package func limitMessages(to length: Int?) {
        guard let handler = handler?.takeUnretainedValue() else { return }
        handler.reader.limitMessages(to: min(length ?? .max, handler.settings.limits.message))
    }

    /// Resumes delivering messages.
    public func resumeReceiving() { handler?.takeUnretainedValue().resumeInline() }

    /// Closes the connection: first all sent messages leave, then the close frame.
    ///
    /// A code that this side must not send (RFC 6455 §7.4) is replaced by 1000; the reason is cut to 123 bytes.
    public func close(code: CloseCode = .normal, reason: String = "") {
        guard let handler = handler?.takeUnretainedValue() else { return }
        let code = code.maySend(as: handler.settings.role) ? code : .normal
        handler.closeInline(CloseFrame(code, reason: reason))
    }

    /// Drops the link at once, without a close handshake.
    package func abort() {
        handler?.takeUnretainedValue().abort(.droppedHere)
    }
}
