import CodecCore
package import MachineCore

/// Requests that are lost, repeated or late for a test: their IDs are counted in the right order, and no client is blamed.
extension RouterMachine {
    /// Loses a request: it is counted, and has no other effect.
    package mutating func miss(_ message: WAMPMessage, of connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect])
    {
        wake(at: now, into: &effects)
        guard let request = message.countedRequest, let session = peers[connection]?.session else { return }
        if case .call(_, let options, _, _) = message {
            // More input for a call was counted with its first part.
            guard begins(request, of: connection) else { return }
            // Further parts of the call have no effect.
            if options["progress"]?.bool == true { realms[session.realm]?.dealer.abandon(request, of: session.participant) }
        }
        if let breach = count(request, of: connection) { violate(connection, breach, at: now, into: &effects) }
    }

    /// Handles a request that was counted before: for the second time, or late.
    ///
    /// - Parameter input: `received` or `forbidden`.
    package mutating func handleAgain(_ input: RouterInput, at now: Moment, into effects: inout [RouterEffect]) {
        guard case .received(let connection, let message) = input.asReceived, let request = message.countedRequest,
            let session = peers[connection]?.session, request > 0
        else { return handle(input, at: now, into: &effects) }
        if case .call = message, let call = realms[session.realm]?.dealer.members[session.participant.session]?.calls[request] {
            // A pending call is not made twice, but more input may come for it.
            if call.isOpen { handle(input, at: now, into: &effects) }
            return
        }
        peers[connection]?.session?.lastRequest = request == 1 ? 0 : request - 1
        handle(input, at: now, into: &effects)
        peers[connection]?.session?.lastRequest = session.lastRequest
    }
}

extension RouterInput {
    /// Treats a forbidden request as received.
    fileprivate var asReceived: RouterInput {
        if case .forbidden(let connection, let message, _) = self { .received(connection, message) } else { self }
    }
}

extension WAMPMessage {
    /// The ID of a request that is counted; nil for other messages, such as the answer to an invocation.
    package var countedRequest: WAMPID? {
        switch self {
        case .publish(let request, _, _, _), .subscribe(let request, _, _), .unsubscribe(let request, _), .call(let request, _, _, _),
            .register(let request, _, _), .unregister(let request, _):
            request
        default: nil
        }
    }
}
