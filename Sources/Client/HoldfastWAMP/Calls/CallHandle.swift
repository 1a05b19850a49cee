import WAMPCore

/// One call whose result comes in parts, from its beginning to the release of this object: then it is cancelled, unless it has ended.
final class CallHandle: Sendable {
    let shell: WAMPShell
    /// Nil if it was never begun.
    let handle: ClientHandle?
    let mailbox: CallMailbox
    let request: WAMPRequest

    init(shell: WAMPShell, handle: ClientHandle?, mailbox: CallMailbox, request: WAMPRequest) {
        (self.shell, self.handle, self.mailbox, self.request) = (shell, handle, mailbox, request)
    }

    deinit { cancel() }

    func cancel() { if let handle { shell.giveUp(handle) } }

    /// Sends the next part of the input; waits for the session, and while the connection takes nothing.
    func send(_ arguments: WAMPArguments, isLast: Bool) async throws(WAMPError) {
        while true {
            let version = mailbox.changes.version
            try checkOpen()
            try await shell.roomToSend(within: nil, "\(request)")
            if let handle, shell.send(handle, arguments, isLast: isLast) { return }
            if Task.isCancelled { throw WAMPError(.cancelled, request: "\(request)", wasSent: false) }
            await mailbox.changes.next(after: version)
        }
    }

    /// Fails with why the call has ended, if it has.
    func checkOpen() throws(WAMPError) {
        guard let end = mailbox.end else { return }
        try end.get()
        throw WAMPError(.cancelled, request: "\(request)", wasSent: false, detail: "the call has its result")
    }
}
