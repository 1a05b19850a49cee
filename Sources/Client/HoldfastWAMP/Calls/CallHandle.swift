import WAMPCore

/// One call whose result comes in parts, from its beginning to the release of this object: then it is cancelled, unless it has ended.
final class CallHandle: Sendable {
    let desk: WAMPDesk
    /// Nil if it was never begun.
    let handle: ClientHandle?
    let mailbox: CallMailbox
    let request: WAMPRequest

    init(desk: WAMPDesk, handle: ClientHandle?, mailbox: CallMailbox, request: WAMPRequest) {
        (self.desk, self.handle, self.mailbox, self.request) = (desk, handle, mailbox, request)
    }

    deinit { cancel() }

    func cancel() { if let handle { desk.cancel(handle) } }

    /// Sends the next part of the input.
    func send(_ arguments: WAMPArguments, isLast: Bool) async throws(WAMPError) {
        try await desk.roomToSend(within: nil, "\(request)")
        if let handle { desk.tell(.part(handle, arguments, isLast: isLast)) }
    }
}
