public import WebSocketCore
public import WebSocketRuntime

/// Serves a connection in line with its I/O, on its event loop: the fastest way, for code that never blocks and never waits.
///
/// Nothing is allocated for a message and no task is woken. In return everything that shares the event loop waits while a
/// function of this runs. A handler belongs to one connection, and its functions are never called at the same time.
public protocol InlineHandler: AnyObject {
    /// The connection is open.
    func opened(_ socket: InlineSocket)

    /// A whole message came; of text, UTF-8 that was checked.
    ///
    /// `bytes` are valid until this returns. While the socket takes nothing of what was sent no further message comes, so a
    /// peer that does not read cannot make replies pile up. Two ends that only send, each more than the sockets hold, wait for each
    /// other until one is called stalled.
    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket)

    /// After a message was refused: there is room again.
    func writable(_ socket: InlineSocket)

    /// The connection is over: how it closed, or why it failed.
    ///
    /// Called once and last.
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

/// An open connection as its ``InlineHandler`` sees it; to be used on its event loop only.
public final class InlineSocket {
    /// What the opening handshake agreed on.
    public let agreement: Agreement
    /// Nil once the connection is over.
    ///
    /// SAFETY: the handler takes itself away from here before it goes.
    var handler: Unmanaged<WebSocketHandler>?

    init(_ agreement: Agreement) { self.agreement = agreement }

    /// Sends a message; it leaves with everything else that is sent in this turn of the event loop.
    ///
    /// False: it was refused, for the send buffer is full, in which case ``InlineHandler/writable(_:)`` tells of room, or because
    /// the connection is closing. A text must be UTF-8. A long message that lies in what was just received is not copied.
    @discardableResult
    public func send(_ kind: MessageKind, _ bytes: RawSpan) -> Bool {
        guard let handler else { return false }
        return handler._withUnsafeGuaranteedRef { handler in bytes.withUnsafeBytes { handler.sendInline(kind, $0) } }
    }

    /// Sends a message as ``send(_:_:)`` does.
    @discardableResult
    public func send(_ message: Message) -> Bool {
        guard let handler else { return false }
        return message.withBytes { handler.takeUnretainedValue().sendInline(message.kind, $0) }
    }

    /// Sends what goes to many sockets as ``send(_:_:)`` does; its bytes are not copied where they can leave as they are,
    /// unless they are few and others wait to leave with them.
    @discardableResult
    package func send(_ message: SharedMessage) -> Bool {
        guard let handler else { return false }
        return handler._withUnsafeGuaranteedRef { $0.sendInline(message) }
    }

    /// Takes no more messages after the present one, until ``resumeReceiving()``: the peer is slowed down by TCP.
    ///
    /// Pings wait meanwhile, too. Closing reads on.
    public func pauseReceiving() { handler?.takeUnretainedValue().isHeld = true }

    /// Takes no longer messages from here on, up to the limit of the settings, which nil stands for.
    ///
    /// A message that has begun counts as well when more of it comes.
    package func limitMessages(to length: Int?) {
        guard let handler = handler?.takeUnretainedValue() else { return }
        handler.reader.limitMessages(to: min(length ?? .max, handler.settings.limits.message))
    }

    /// Takes messages again.
    public func resumeReceiving() { handler?.takeUnretainedValue().resumeInline() }

    /// Closes: what was sent leaves first, then the close frame.
    ///
    /// A code that this side may not send (RFC 6455 §7.4) is replaced by 1000; the reason is cut to 123 bytes.
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
