import CodecCore
import MachineCore
import WAMPCore

/// The checks of the router's messages.
extension RouterTumult {
    mutating func carryOut(_ effect: RouterEffect) {
        switch effect {
        case .send(let message, let client): take(message, client)
        case .sendToAll(let message, let receivers):
            if Set(receivers).count != receivers.count || receivers.count < 2 { complaints.append("repeated or single receiver") }
            for client in receivers { take(message, client) }
        case .close(let client, let closing):
            if clients.removeValue(forKey: client) == nil { complaints.append("closed twice") }
            seen.insert("\(closing)")
        case .examine, .news: break
        }
    }

    mutating func take(_ message: WAMPMessage, _ client: RouterConnection) {
        seen.insert(message.name)
        guard let state = clients[client] else { return complaints.append("a message to a closed connection: \(message)") }
        if state.wasToldGoodbye { complaints.append("a message after GOODBYE: \(message)") }
        switch message {
        case .welcome(let session, _): clients[client]?.session = session
        case .goodbye:
            clients[client]?.session = nil
            clients[client]?.wasToldGoodbye = true
        case .abort: clients[client]?.session = nil
        case .published(let id, _): answer(id, 16, client)
        case .subscribed(let id, let subscription):
            answer(id, 32, client)
            clients[client]?.subscriptions.insert(subscription)
        case .unsubscribed(0, let details): clients[client]?.subscriptions.remove(WAMPID(details["subscription"]?.int ?? 0))
        case .unsubscribed(let id, _): answer(id, 34, client)
        case .event(let subscription, _, _, _):
            if !state.subscriptions.contains(subscription), state.isJoined { complaints.append("an unexpected event: \(message)") }
        case .registered(let id, let registration):
            answer(id, 64, client)
            clients[client]?.registrations.insert(registration)
        case .unregistered(0, let details): clients[client]?.registrations.remove(WAMPID(details["registration"]?.int ?? 0))
        case .unregistered(let id, _): answer(id, 66, client)
        case .result(let id, let details, _): if details["progress"] == nil { answer(id, 48, client) }
        case .invocation(let id, _, _, _):
            if !(clients[client]?.invocations.insert(id).inserted ?? false) { complaints.append("invoked twice: \(id)") }
        case .interrupt(let id, _):
            if clients[client]?.invocations.contains(id) != true { complaints.append("an interrupt after the answer: \(id)") }
        case .error(let kind, let id, _, _, _): answer(id, kind.rawValue, client)
        default: complaints.append("not a message of a router: \(message)")
        }
    }

    mutating func answer(_ id: WAMPID, _ kind: UInt64, _ client: RouterConnection) {
        if clients[client]?.open.removeValue(forKey: id) != kind { complaints.append("an answer without a request: \(kind) \(id)") }
    }
}
