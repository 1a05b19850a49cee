import RoomCore
import RoomHistory

extension SimWorld {
    /// A random action of an app.
    func act(_ client: SimClient) {
        guard let room = pick(rooms) else { return }
        guard client.wantedRooms[room] != nil else {
            if oneIn(10) { submit(in: room, client) }
            return join(room, client)
        }
        switch jitter(21) {
        case 0..<11: submit(in: room, client)
        case 11:
            if oneIn(2) {
                client.wantedRooms[room] = nil
                client.rooms[room]?.record.leave()
                feed(client, oneIn(3) ? .forget(room) : .leave(room))
            }
        case 12:
            let cursor = client.store.rooms[room]?.cursor.seq ?? 0
            count(.reads)
            let seq = jitter(cursor + 2)
            _ = client.rooms[room]?.record.markRead(upTo: seq)
            feed(client, .read(room, upTo: seq))
        case 13:
            count(.typing)
            feed(client, .typing(room, oneIn(2)))
        case 14:
            count(.presence)
            feed(client, .presence(room, Presence(status: oneIn(2) ? "away" : "online")))
        case 15:
            count(.signals)
            feed(client, .signal(room, Signal(type: "cursor", payload: .json(Array("1".utf8)))))
        case 16:
            client.questions += 1
            let before = 1 + jitter((client.store.rooms[room]?.first ?? 1) + 3)
            feed(client, .history(room, reference: client.questions, before: before, limit: 1 + jitter(6)))
        case 17:
            if let waiting = pick(client.waiting) { discard(waiting.room, waiting.id, client) }
        case 18: feed(client, .token("dev:\(client.user)"))
        case 19:
            guard let failed = pick(client.failed) else { return submit(in: room, client) }
            if failed.mayRetry, oneIn(2) { retry(failed.room, failed.id, client) } else { discard(failed.room, failed.id, client) }
        default:
            let message = SimServerMessage(
                number: serverMessages, room: room, device: DeviceID(using: &random),
                publication: publication(text: "\"s\(serverMessages)\"", cseq: 1, at: hubCalendar))
            serverMessages += 1
            submitted(message)
            serve(message, attempt: 0)
        }
    }

    func join(_ room: RoomName, _ client: SimClient) {
        let starts: [JoinRequest.Start] = [.beginning, .last(1 + jitter(8)), .now]
        let request = JoinRequest(start: pick(starts) ?? .now, limit: pick([0, 3, 10_000]) ?? 0)
        client.wantedRooms[room] = request
        open(room, request, client)
        feed(client, .join(room, request))
    }

    func submit(in room: RoomName, _ client: SimClient) {
        client.messages += 1
        let isLong = oneIn(40)
        let text = "\"\(client.who)-\(client.life)-\(client.messages)\(isLong ? String(repeating: "x", count: 400) : "")\""
        let new = publication(text: text, cseq: 0, at: calendar(of: client))
        guard let content = new.content else { return }
        count(.submitted)
        let digest = names.digest(content.payload)
        write(.submitted(names.of(new.id), digest: digest, room: room.text, who: client.who, at: now))
        follow(new.id, sent: new.sent, content, in: room, client)
        feed(client, .submit(room, new.id, sent: new.sent, content))
    }

    private func publication(text: String, cseq: Int64, at sent: Int64) -> Publication {
        Publication(
            cseq: cseq, id: MessageID(at: Self.epoch + absence + now, using: &random), sent: sent,
            content: .init(type: "chat.text", payload: .json(Array(text.utf8))))
    }

    private func discard(_ room: RoomName, _ id: MessageID, _ client: SimClient) {
        write(.message(.discarding, names.of(id), room: room.text, who: client.who, at: now))
        feed(client, .discard(room, id))
    }

    private func retry(_ room: RoomName, _ id: MessageID, _ client: SimClient) {
        count(.retried)
        client.failed.removeAll { $0.id == id }
        client.rooms[room]?.record.retry(id)
        write(.message(.retried, names.of(id), room: room.text, who: client.who, at: now))
        feed(client, .retry(room, id))
    }

    // MARK: Server publications

    private func submitted(_ message: SimServerMessage) {
        count(.serverMessages)
        let digest = message.publication.content.map { names.digest($0.payload) } ?? ""
        write(.submitted(names.of(message.publication.id), digest: digest, room: message.room.text, who: "server", at: now))
    }

    /// Publishes as the server, and repeats that until the message is stored.
    func serve(_ message: SimServerMessage, attempt: Int) {
        guard !message.isStored else { return }
        agenda.plan(.server(message, attempt: attempt + 1), at: now + 2000)
        guard hub.machine != nil, let user = UserName("server") else { return }
        requests[UInt64(message.number)] = message
        feedHub(.publish(ServerRequest(UInt64(message.number)), message.room, message.device, user, message.publication))
    }

    func answered(_ request: ServerRequest, _ answer: ServerAnswer) {
        guard let message = requests[request.number] else { return broken("an answer without a request: \(request)") }
        guard case .stored(let epoch, let ack) = answer else { return }
        message.isStored = true
        let id = names.of(message.publication.id)
        if let other = ack.id, other != message.publication.id { broken("\(id) of the server is acked as another") }
        write(.acked(id, epoch: names.of(epoch), seq: ack.seq, room: message.room.text, who: "server", at: now))
    }
}

/// A message that the server publishes.
final class SimServerMessage {
    let number: Int
    let room: RoomName
    let device: DeviceID
    let publication: Publication
    var isStored = false

    init(number: Int, room: RoomName, device: DeviceID, publication: Publication) {
        (self.number, self.room, self.device, self.publication) = (number, room, device, publication)
    }
}
