import CodecCore
package import MachineCore

/// Requests that do not come as they were sent, for a test wants it so: their ids are counted in their turn, and no client is blamed.
extension RouterMachine {
    /// A request is lost on its way: it counts, and nothing else becomes of it.
    package mutating func miss(_ message: WAMPMessage, of connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect])
    {
        wake(at: now, into: &effects)
        guard let request = message.countedRequest, let session = visits[connection]?.session else { return }
        if case .call(_, let options, _, _) = message {
            // More input for a call was counted with its first.
            guard begins(request, of: connection) else { return }
            // Its further parts come for nothing.
            if options["progress"]?.bool == true { realms[session.realm]?.dealer.abandon(request, of: session.participant) }
        }
        if let breach = count(request, of: connection) { violate(connection, breach, at: now, into: &effects) }
    }

    /// A request comes that has been counted before: for the second time, or after its turn.
    ///
    /// - Parameter input: `received` or `forbidden`.
    package mutating func handleAgain(_ input: RouterInput, at now: Moment, into effects: inout [RouterEffect]) {
        guard case .received(let connection, let message) = input.asReceived, let request = message.countedRequest,
            let session = visits[connection]?.session, request > 0
        else { return handle(input, at: now, into: &effects) }
        if case .call = message, let call = realms[session.realm]?.dealer.members[session.participant.session]?.calls[request] {
            // A call that waits is not made twice; but more input may come for it.
            if call.isOpen { handle(input, at: now, into: &effects) }
            return
        }
        visits[connection]?.session?.lastRequest = request == 1 ? 0 : request - 1
        handle(input, at: now, into: &effects)
        visits[connection]?.session?.lastRequest = session.lastRequest
    }
}

extension RouterInput {
    /// A request that is not allowed is one that came.
    fileprivate var asReceived: RouterInput {
        if case .forbidden(let connection, let message, _) = self { .received(connection, message) } else { self }
    }
}

extension WAMPMessage {
    /// Its id, if it is a request that counts: the answer to an invocation does not.
    package var countedRequest: WAMPID? {
        switch self {
        case .publish(let request, _, _, _), .subscribe(let request, _, _), .unsubscribe(let request, _), .call(let request, _, _, _),
            .register(let request, _, _), .unregister(let request, _):
            request
        default: nil
        }
    }
}
