import MachineCore
import SessionCore
import Testing

/// What sending has to do with connections that come, go and take over.
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

        /// A connection that is open gets a successor.
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

    @Test func `what waits is handed to the connection that opens, one after the other`() {
        var life = Life(isConnected: false)
        #expect(life.submit(1) == [.backlog(SendVolume(count: 1, bytes: 10))])
        life.submit(2, .urgent)
        #expect(sending(life.feed(.opened(generation: 1))) == [.transmit(2, generation: 1)])
        #expect(life.feed(.taken(2)) == [.transmit(1, generation: 1), .backlog(SendVolume(count: 1, bytes: 10))])
        #expect(life.feed(.taken(1)) == [.backlog(SendVolume())])
    }

    @Test func `a message in hand when the connection is lost goes to the next one only if it was not taken`() {
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

    @Test func `an answer that comes when the next connection is open is one for the old one`() {
        for (answer, next) in [(Session.Input.taken(1), UInt64(2)), (.blocked(1), 1)] {
            var life = Life()
            life.submit(1)
            life.submit(2)
            life.feed(.lost(generation: 1, Loss(.lost)))
            life.pass(5)
            #expect(sending(life.feed(.opened(generation: 2))).isEmpty, "nothing goes before it is known what became of 1")
            #expect(life.feed(answer).first == .transmit(next, generation: 2))
        }
    }

    @Test func `a connection that is full makes room by going`() {
        var life = Life()
        life.submit(1)
        #expect(life.feed(.blocked(1)).isEmpty)
        life.feed(.lost(generation: 1, Loss(.lost)))
        life.pass(5)
        #expect(sending(life.feed(.opened(generation: 2))) == [.transmit(1, generation: 2)])
    }

    @Test func `a connection that takes over from a full one has room`() {
        var life = Life()
        life.submit(1)
        life.feed(.blocked(1))
        #expect(sending(life.handOver()) == [.transmit(1, generation: 2)])
    }

    @Test func `what the old connection has in hand while another takes over is not sent twice`() {
        for (answer, next) in [(Session.Input.taken(1), UInt64(2)), (.blocked(1), 1)] {
            var life = Life()
            life.submit(1)
            life.submit(2)
            #expect(sending(life.handOver()).isEmpty)
            #expect(life.feed(answer).first == .transmit(next, generation: 2))
        }
    }

    @Test func `while a connection is made to take over, the old one serves`() {
        var life = Life()
        life.pass(20)
        life.feed(.path(.betterPathAvailable))
        #expect(life.submit(1).first == .transmit(1, generation: 1))
    }

    @Test func `a policy that fails refuses what a lost connection gave back, and what was sent meanwhile`() {
        var life = Life(SendPolicy(whileDisconnected: .fail))
        life.submit(1)
        life.feed(.lost(generation: 1, Loss(.lost)))
        #expect(life.submit(2) == [.backlog(SendVolume(count: 2, bytes: 20))])
        let end = sending(life.feed(.blocked(1)))
        #expect(end.prefix(2) == [.refused(1, .disconnected), .refused(2, .disconnected)] && end.last == .backlog(SendVolume()))
        #expect(life.submit(3) == [.refused(3, .disconnected)])
    }

    @Test func `a message that is overdue in hand is asked back`() {
        var life = Life()
        life.submit(1, patience: 3)
        #expect(life.session.machine.deadline == Moment(.seconds(3)))
        #expect(life.pass(3) == [.recall(1), .backlog(SendVolume())])
        #expect(life.feed(.blocked(1)) == [.refused(1, .timedOut)])
    }

    @Test func `the end refuses what waits before it is told, and what is in hand when it comes back`() {
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

    @Test func `whoever wants to send no more leaves the connection open`() {
        var life = Life()
        life.submit(1)
        life.submit(2)
        #expect(life.feed(.finishSending) == [.refused(2, .closed), .backlog(SendVolume())])
        #expect(life.feed(.taken(1)).isEmpty)
        #expect(life.submit(3) == [.refused(3, .closed)])
    }
}
