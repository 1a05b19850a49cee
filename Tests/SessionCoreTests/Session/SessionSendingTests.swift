import MachineCore
import SessionCore
import Testing

/// Sending while connections open, fail and are replaced.
@Suite struct SessionSendingTests {
    private struct Life {
        var session: Stepper<Session>
        var second = 0

        init(_ sending: SendPolicy = SendPolicy(whileDisconnected: .queue), isConnected: Bool = true) {
            var policy = SessionPolicy()
            policy.reconnect.backoff = Backoff(base: .seconds(1), jitter: .proportional(0))
            policy.path.handsOver = true
            policy.sending = sending
            session = Stepper(Session(policy: policy, seed: 1))
            feed(.start)
            if isConnected { feed(.opened(generation: 1)) }
        }

        @discardableResult mutating func feed(_ input: Session.Input) -> [Session.Effect] { session.handle(input, at: second) }

        @discardableResult mutating func pass(_ seconds: Int) -> [Session.Effect] {
            second += seconds
            return session.wake(at: second)
        }

        @discardableResult mutating func submit(_ id: UInt64, _ lane: Lane = .normal, patience: Int? = nil) -> [Session.Effect] {
            feed(.submit(id: id, lane: lane, byteCount: 10, patience: patience.map { .seconds($0) }))
        }

        /// Replaces the open connection.
        mutating func handOver() -> [Session.Effect] {
            pass(20)
            feed(.path(.betterPathAvailable))
            return feed(.opened(generation: 2))
        }
    }

    private func sending(_ effects: [Session.Effect]) -> [Session.Effect] {
        effects.filter {
            switch $0 {
            case .transmit, .recall, .refused, .backlog: true
            default: false
            }
        }
    }

    @Test func `waiting messages are handed one by one to the connection that opens`() {
        var life = Life(isConnected: false)
        #expect(life.submit(1) == [.backlog(SendVolume(count: 1, bytes: 10))])
        life.submit(2, .urgent)
        #expect(sending(life.feed(.opened(generation: 1))) == [.transmit(2, generation: 1)])
        #expect(life.feed(.taken(2)) == [.transmit(1, generation: 1), .backlog(SendVolume(count: 1, bytes: 10))])
        #expect(life.feed(.taken(1)) == [.backlog(SendVolume())])
    }

    @Test func `a message that was handed to a lost connection goes to the next only if it was not taken`() {
        for (answer, next) in [(Session.Input.taken(1), UInt64(2)), (.blocked(1), 1)] {
            var life = Life()
            life.submit(1)
            life.submit(2)
            #expect(sending(life.feed(.lost(generation: 1, Loss(.lost)))).isEmpty)
            #expect(!life.feed(answer).contains { if case .transmit = $0 { true } else { false } })
            life.pass(5)
            #expect(sending(life.feed(.opened(generation: 2))) == [.transmit(next, generation: 2)])
        }
    }

    @Test func `an answer of the old connection is accepted after the next one opened`() {
        for (answer, next) in [(Session.Input.taken(1), UInt64(2)), (.blocked(1), 1)] {
            var life = Life()
            life.submit(1)
            life.submit(2)
            life.feed(.lost(generation: 1, Loss(.lost)))
            life.pass(5)
            #expect(sending(life.feed(.opened(generation: 2))).isEmpty, "nothing is sent before the outcome of message 1 is known")
            #expect(life.feed(answer).first == .transmit(next, generation: 2))
        }
    }

    @Test func `a message that a full connection blocked goes to the next one`() {
        var life = Life()
        life.submit(1)
        #expect(life.feed(.blocked(1)).isEmpty)
        life.feed(.lost(generation: 1, Loss(.lost)))
        life.pass(5)
        #expect(sending(life.feed(.opened(generation: 2))) == [.transmit(1, generation: 2)])
    }

    @Test func `the successor of a full connection accepts messages`() {
        var life = Life()
        life.submit(1)
        life.feed(.blocked(1))
        #expect(sending(life.handOver()) == [.transmit(1, generation: 2)])
    }

    @Test func `a message that was handed to the old connection is not sent twice during a hand-over`() {
        for (answer, next) in [(Session.Input.taken(1), UInt64(2)), (.blocked(1), 1)] {
            var life = Life()
            life.submit(1)
            life.submit(2)
            #expect(sending(life.handOver()).isEmpty)
            #expect(life.feed(answer).first == .transmit(next, generation: 2))
        }
    }

    @Test func `the old connection serves during a hand-over`() {
        var life = Life()
        life.pass(20)
        life.feed(.path(.betterPathAvailable))
        #expect(life.submit(1).first == .transmit(1, generation: 1))
    }

    @Test func `the fail policy refuses messages that a lost connection returned, and messages sent meanwhile`() {
        var life = Life(SendPolicy(whileDisconnected: .fail))
        life.submit(1)
        life.feed(.lost(generation: 1, Loss(.lost)))
        #expect(life.submit(2) == [.backlog(SendVolume(count: 2, bytes: 20))])
        let end = sending(life.feed(.blocked(1)))
        #expect(end.prefix(2) == [.refused(1, .disconnected), .refused(2, .disconnected)] && end.last == .backlog(SendVolume()))
        #expect(life.submit(3) == [.refused(3, .disconnected)])
    }

    @Test func `a handed-over message is recalled at its deadline`() {
        var life = Life()
        life.submit(1, patience: 3)
        #expect(life.session.machine.deadline == Moment(.seconds(3)))
        #expect(life.pass(3) == [.recall(1), .backlog(SendVolume())])
        #expect(life.feed(.blocked(1)) == [.refused(1, .timedOut)])
    }

    @Test func `the end refuses waiting messages at once, and a handed-over one when it returns`() {
        var life = Life()
        life.submit(1)
        life.submit(2)
        let end = life.feed(.close)
        #expect(sending(end) == [.refused(2, .closed), .backlog(SendVolume())])
        #expect(end.last == .report(.stopped(.asked)))
        #expect(life.submit(3) == [.refused(3, .closed)])
        #expect(life.feed(.blocked(1)) == [.refused(1, .closed)])
        #expect(life.feed(.blocked(1)).isEmpty)
    }

    @Test func `after the end of sending the connection stays open`() {
        var life = Life()
        life.submit(1)
        life.submit(2)
        #expect(life.feed(.finishSending) == [.refused(2, .closed), .backlog(SendVolume())])
        #expect(life.feed(.taken(1)).isEmpty)
        #expect(life.submit(3) == [.refused(3, .closed)])
    }
}
