import CodecCore
import MachineCore
import ProtocolCore
import WAMPCore

// The news for the apps, and their checks.
extension SimWorld {
    func handle(_ news: ClientNews, _ client: SimClient) {
        notify("client \(client.number): \(news)")
        switch news {
        case .joined:
            count(.joins)
            if client.isJoined { report("client \(client.number) joins twice") }
            client.isJoined = true
        case .parted:
            if !client.isJoined { report("client \(client.number) parts without having joined") }
            client.isJoined = false
            for handle in client.listeners.keys { client.listeners[handle]?.isActive = false }
        case .result(let handle, _, let arguments, let isFinal): take(arguments, of: handle.number, isFinal: isFinal, client)
        case .published(let handle, _):
            count(.published)
            guard let request = client.requests.removeValue(forKey: handle.number), !request.isCall else {
                return report("client \(client.number): \(handle.number) is published without a pending request")
            }
        case .failed(let handle, let failure): fail(handle.number, failure, client)
        case .invoked, .invokedFurther, .interrupted, .registered, .suspended: handleAsCallee(news, client)
        case .subscribed, .unsubscribed, .event, .gap: handleAsListener(news, client)
        case .challenged, .welcomed, .ended, .testamentFailed: break
        }
    }

    // MARK: Requests

    private func take(_ arguments: WAMPArguments, of handle: UInt64, isFinal: Bool, _ client: SimClient) {
        guard var request = client.requests[handle], request.isCall else {
            return report("client \(client.number): a result of \(handle), which has ended or does not exist")
        }
        guard let payload = SimPayload(arguments), payload.id == Int64(handle) else {
            return report("client \(client.number): a result \(arguments.debugDescription) of \(handle)")
        }
        if isFinal {
            count(.results)
            client.requests[handle] = nil
        } else {
            count(.parts)
            if payload.number <= request.parts || !request.wantsProgress {
                report("a part \(payload.number) after \(request.parts) of \(handle)")
            }
            request.parts = payload.number
            client.requests[handle] = request
        }
    }

    private func fail(_ handle: UInt64, _ failure: ClientFailure, _ client: SimClient) {
        let request = client.requests.removeValue(forKey: handle)
        let others = [client.listeners.removeValue(forKey: handle) != nil, client.procedures.removeValue(forKey: handle) != nil]
        if request == nil, !others.contains(true) {
            report("client \(client.number): \(handle) fails after its end: \(failure)")
        }
        if let request { count(request.isCall ? .callsFailed : .publicationsFailed) }
        if isProbing { report("client \(client.number): \(handle) fails without a fault: \(failure)") }
        switch failure {
        case .connectionLost(let wasSent):
            count(wasSent ? .lostAfterSent : .lostBeforeSent)
            if !wasSent { unsent.insert(Int64(handle)) }
        case .timedOut(let wasSent):
            count(.timedOut)
            if !wasSent { unsent.insert(Int64(handle)) }
        case .cancelled(let wasSent): if !wasSent { unsent.insert(Int64(handle)) }
        case .notJoined, .tooManyWaiting, .unsupported, .invalidURI: unsent.insert(Int64(handle))
        case .refused("app.error.x", let arguments):
            if SimPayload(arguments)?.id != Int64(handle) { report("an error \(arguments.debugDescription) of \(handle)") }
        case .refused, .ended: break
        }
    }

    // MARK: Events

    private func handleAsListener(_ news: ClientNews, _ client: SimClient) {
        switch news {
        case .subscribed(let handle, _):
            if client.listeners[handle.number] == nil {
                report("client \(client.number): the ended listener \(handle.number) is subscribed")
            }
            client.listeners[handle.number]?.isActive = true
            client.listeners[handle.number]?.hasBeenActive = true
        case .gap(let handles, let gap):
            count(.gaps)
            if case .filled(let events) = gap, events > 0 { count(.filled) }
            for handle in handles where client.listeners[handle.number] == nil {
                report("client \(client.number): a gap for the ended listener \(handle.number)")
            }
        case .event(let handles, _, _, let details, let arguments):
            guard let payload = SimPayload(arguments) else { return report("an event of \(arguments.debugDescription)") }
            if handles.isEmpty { report("client \(client.number): an event for nobody") }
            count(details["retained"] == true ? .retained : .events)
            received.insert(payload.id)
            for listener in handles { handle(payload, isRetained: details["retained"] == true, listener.number, client) }
        default: break
        }
    }

    private func handle(_ payload: SimPayload, isRetained: Bool, _ handle: UInt64, _ client: SimClient) {
        guard var listener = client.listeners[handle] else {
            return report("client \(client.number): an event for the ended listener \(handle)")
        }
        // An event that came before a loss may be delivered after it.
        if !listener.hasBeenActive { report("client \(client.number): an event for \(handle), which was never subscribed") }
        if !listener.key.covers(payload.uri) { report("an event of \(payload.uri) for \(listener.key)") }
        if isRetained { return }
        if !listener.received.insert(payload.id).inserted { report("client \(client.number): \(handle) receives \(payload.id) twice") }
        guard let connection = origins[payload.id] else { return report("\(payload.id) is received and was never sent") }
        if let last = listener.last[connection], last >= payload.number {
            report("\(handle) receives \(payload.number) of \(payload.client) after \(last)")
        }
        listener.last[connection] = payload.number
        client.listeners[handle] = listener
    }

    // MARK: Procedures

    private func handleAsCallee(_ news: ClientNews, _ client: SimClient) {
        switch news {
        case .registered(let handle, _):
            if client.procedures[handle.number] == nil {
                report("client \(client.number): the ended procedure \(handle.number) is registered")
            }
            client.procedures[handle.number]?.isActive = true
        case .suspended(let handle):
            count(.suspensions)
            if client.procedures[handle.number]?.isActive != true {
                report("client \(client.number): \(handle.number) is suspended without being registered")
            }
            client.procedures[handle.number]?.isActive = false
        case .invoked(let handle, let procedure, let details, let arguments):
            count(.invocations)
            invoke(handle.number, of: procedure.number, details, arguments, client)
        case .invokedFurther(let handle, let arguments, _):
            count(.inputParts)
            guard let call = client.invocations[handle.number] else { return report("more input for \(handle.number), which has ended") }
            if SimPayload(arguments)?.id != call { report("input \(arguments.debugDescription) for the call \(call)") }
        case .interrupted(let handle, _):
            count(.interrupts)
            guard client.invocations[handle.number] != nil else { return report("\(handle.number) is interrupted after its end") }
            agenda.plan(
                .reply(client, life: client.life, handle.number, oneIn(3) ? .result : .failure("app.error.x")), at: now + jitter(100))
        default: break
        }
    }

    private func invoke(_ handle: UInt64, of procedure: UInt64, _ details: ValueMap, _ arguments: WAMPArguments, _ client: SimClient) {
        guard let offered = client.procedures[procedure] else { return report("the ended procedure \(procedure) is called") }
        guard let payload = SimPayload(arguments), let call = calls[payload.id] else {
            return report("an invocation of \(arguments.debugDescription)")
        }
        if !offered.isActive { report("\(procedure) is called without being registered") }
        if call.uri != offered.uri, !offered.uri.hasSuffix(".") || !call.uri.hasPrefix(offered.uri) {
            report("\(offered.uri) is called for \(call.uri)")
        }
        invoked[payload.id, default: 0] += 1
        // A router that accepts any request id takes a late part for a new call.
        if invoked[payload.id] != 1, !plan.quirks.invokesEachPart, !plan.quirks.acceptsAnyRequestID {
            report("the call \(payload.id) comes twice")
        }
        client.invocations[handle] = payload.id
        var due = now + jitter(isProbing ? 100 : 600)
        if oneIn(3) {
            // A handler may send progressive results whether or not the caller wants them.
            for part in 1...3 {
                agenda.plan(.reply(client, life: client.life, handle, .part(Int64(part))), at: due)
                due += jitter(100)
            }
        }
        agenda.plan(.reply(client, life: client.life, handle, oneIn(5) && !isProbing ? .failure("app.error.x") : .result), at: due)
    }

    /// A handler answers, unless it already has.
    func answer(_ handle: UInt64, with reply: SimReply, by client: SimClient) {
        guard let call = client.invocations[handle] else { return }
        func payload(_ number: Int64) -> WAMPArguments {
            SimPayload(id: call, client: client.number, number: number, uri: "answer").arguments
        }
        let input: ClientCommand
        switch reply {
        case .part(let number): input = .yield(ClientHandle(handle), payload(number), isFinal: false)
        case .result: input = .yield(ClientHandle(handle), payload(100), isFinal: true)
        case .failure(let uri): input = .fail(ClientHandle(handle), uri: uri, payload(100))
        }
        if case .part = reply {} else { client.invocations[handle] = nil }
        drive(client) { $0.handle(.command(input), at: $1, into: &$2) }
    }
}
