import DequeModule
import Holdfast
import WebSocketRuntime

extension MemoryLink {
    private static let batchSize = 16 * 1024

    /// Moves what waits at one end to the other; false if nothing could move.
    func carry(from role: Role) -> Bool {
        let peer = role.peer
        if self[role].isOver { return hangUp(peer) }
        guard self[peer].reads else { return false }
        if let control = self[role].controls.popFirst() {
            deliver(control, to: peer)
            return true
        }
        let entries = self[role].ports.outbound.take(upTo: Self.batchSize)
        guard entries.isEmpty else {
            if self[role].stalledUntil.take() != nil { feedHeartbeat(role, .activity) }
            let frames = entries.filter { !$0.isMark }
            for frame in frames { self[role].traffic.countSent(frame) }
            self[role].ports.meter.tell(self[role].traffic)
            deliver(frames, to: peer)
            for case .mark(let mark) in entries { self[role].ports.outbound.wrote(mark) }
            return true
        }
        if let frame = self[role].closeFrame.take() {
            deliverClose(frame, to: peer)
            return true
        }
        return self[role].endsOutput && hangUp(peer)
    }

    /// From when on the peer is measured: something waits for it, and does not move.
    func measureStall(of role: Role) {
        guard !self[role].isOver, self[role].ports.outbound.awaitWork() else { return self[role].stalledUntil = nil }
        if self[role].stalledUntil == nil { self[role].stalledUntil = now + self[role].stall }
    }

    private func hangUp(_ role: Role) -> Bool {
        guard !self[role].isOver else { return false }
        feedClosing(role, .transportEnded)
        return true
    }

    private func deliver(_ control: MemoryEnd.Control, to role: Role) {
        feedHeartbeat(role, .activity)
        guard !self[role].isDiscarding else { return }
        switch control {
        // RFC 6455 §5.5.2: unless a close frame was received.
        case .ping(let payload): self[role].enqueue(.pong(payload))
        case .pong(let payload): feedHeartbeat(role, .pong(payload))
        }
    }

    private func deliver(_ entries: some Collection<OutboundQueue.Entry>, to role: Role) {
        guard !entries.isEmpty else { return }
        feedHeartbeat(role, .activity)
        var batch = ReceivedBatch()
        do throws(ProtocolViolation) {
            for entry in entries where !self[role].isDiscarding {
                self[role].traffic.countReceived(entry)
                if let received = try self[role].assembly.receive(entry) { batch.append(received) }
            }
            hand(&batch, to: role)
        } catch {
            hand(&batch, to: role)
            fail(role, error)
        }
    }

    private func hand(_ batch: inout ReceivedBatch, to role: Role) {
        self[role].ports.meter.tell(self[role].traffic)
        if let question = self[role].question, !self[role].questions.isEmpty,
            question.takeAnswers(from: &batch, to: &self[role].questions)
        {
            feedHeartbeat(role, .answered)
        }
        // An end that closes reads on, and keeps nothing that its app has no room for.
        guard !batch.isEmpty, !self[role].isPaused, !self[role].ports.inbound.append(&batch) else { return }
        self[role].isPaused = true
        feedHeartbeat(role, .paused)
    }

    private func deliverClose(_ frame: CloseFrame, to role: Role) {
        feedHeartbeat(role, .activity)
        guard !self[role].isDiscarding else { return }
        self[role].isDiscarding = true
        feedClosing(role, .peerClose(frame))
    }
}

extension LinkTraffic {
    fileprivate mutating func countSent(_ entry: OutboundQueue.Entry) {
        self += LinkTraffic(bytesOut: entry.byteCount, messagesOut: entry.isLast ? 1 : 0, payloadOut: entry.byteCount)
    }

    fileprivate mutating func countReceived(_ entry: OutboundQueue.Entry) {
        self += LinkTraffic(bytesIn: entry.byteCount, messagesIn: entry.isLast ? 1 : 0, payloadIn: entry.byteCount)
    }
}

extension OutboundQueue.Entry {
    fileprivate var byteCount: Int {
        switch self {
        case .message(let message): message.byteCount
        case .chunk(let chunk, _): chunk.bytes.count
        case .mark: 0
        }
    }

    /// A message ends with it.
    fileprivate var isLast: Bool {
        if case .chunk(let chunk, _) = self { chunk.isLast } else { true }
    }

    /// Whether it is nothing for the peer.
    fileprivate var isMark: Bool { if case .mark = self { true } else { false } }
}

extension Role {
    var peer: Role { self == .client ? .server : .client }
}
