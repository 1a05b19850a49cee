import HoldfastTesting
import MachineCore
import Testing
import WebSocketCore

/// RFC 6455 §7.
@Suite struct CloseHandshakeTests {
    static let patience = Duration.seconds(3)
    static let linger = Duration.seconds(1)
    static let inputs: [CloseHandshake.Input] = [
        .close(CloseFrame(.normal, reason: "bye")), .fail(CloseFrame(.protocolError)), .peerClose(CloseFrame(.goingAway)),
        .peerClose(CloseFrame()), .transportEnded,
    ]

    @Test(arguments: [Role.client, .server])
    func `every path ends once and in time, and sends at most one close frame`(role: Role) {
        let states = explore(Audited(role), inputs: Self.inputs, depth: 9) { step in
            let (before, after) = (step.before, step.after)
            #expect(after.closeFrames <= 1, "\(step)")
            #expect(after.outcomes == (after.isSettled ? 1 : 0), "\(step)")
            #expect(after.transportEnds == (after.machine.phase == .closed ? 1 : 0), "\(step)")
            #expect(after.machine.phase != .open || before.machine.phase == .open, "never reopens: \(step)")
            #expect(before.machine.phase != .closed || step.effects.isEmpty, "\(step)")
            switch after.machine.phase {
            case .open, .closed: #expect(after.deadline == nil, "\(step)")
            case .asked, .draining, .agreed:
                #expect(after.deadline ?? .distantFuture <= after.leftOpenAt + Self.patience + Self.linger, "\(step)")
            }
            if let deadline = before.deadline, step.input == nil, step.now >= deadline {
                #expect(after.machine.phase == .closed, "a deadline ends it: \(step)")
            }
        }
        #expect(states > 100)
    }

    @Test(arguments: [Role.client, .server])
    func `the record says which side closed first and what each side sent`(role: Role) {
        explore(CloseHandshake(role: role), inputs: Self.inputs, depth: 6) { step in
            let record = step.after.record
            #expect(record.isClean == (record.sent != nil && record.received != nil), "\(step)")
            #expect((record.closedFirst == nil) == (record.sent == nil && record.received == nil), "\(step)")
            for case .finished(let told) in step.effects { #expect(told == record, "\(step)") }
            for case .sendClose(let frame) in step.effects { #expect(record.sent == frame, "\(step)") }
            if step.before.isSettled { #expect(record == step.before.record, "a settled outcome does not change: \(step)") }
        }
    }

    @Test func `the app closes, the peer answers, and the server ends TCP first`() {
        let (ours, theirs) = (CloseFrame(.normal, reason: "bye"), CloseFrame(.normal))
        let record = CloseRecord(sent: ours, received: theirs, closedFirst: .local, isClean: true)
        var server = Driven(CloseHandshake(role: .server))
        #expect(server.handle(.close(ours)) == [.sendClose(ours)])
        #expect(server.handle(.peerClose(theirs)) == [.finished(record), .endOutput])
        #expect(server.handle(.transportEnded) == [.endTransport])

        var client = Driven(CloseHandshake(role: .client))
        #expect(client.handle(.close(ours)) == [.sendClose(ours)])
        #expect(client.handle(.peerClose(theirs)) == [.finished(record)])
        #expect(client.handle(.transportEnded) == [.endTransport])
    }

    /// A code that only the other role may send is answered with 1000.
    @Test(
        arguments: [
            (.client, .goingAway, .goingAway), (.server, CloseCode(rawValue: 4001), CloseCode(rawValue: 4001)),
            (.client, .serviceRestart, .normal), (.server, .mandatoryExtension, .normal),
        ] as [(Role, CloseCode, CloseCode)])
    func `a peer's close is answered with its code and no reason`(role: Role, code: CloseCode, echo: CloseCode) {
        var machine = Driven(CloseHandshake(role: role))
        let frame = CloseFrame(code, reason: "back in a minute")
        let record = CloseRecord(sent: CloseFrame(echo), received: frame, closedFirst: .remote, isClean: true)
        #expect(machine.handle(.peerClose(frame)).prefix(2) == [.sendClose(CloseFrame(echo)), .finished(record)])
    }

    @Test func `a peer's empty close is answered with an empty close`() {
        var client = Driven(CloseHandshake(role: .client))
        #expect(client.handle(.peerClose(CloseFrame())).first == .sendClose(CloseFrame()))
        #expect(client.machine.record.code == .noStatus)
    }

    @Test func `a protocol violation is reported to the peer, and then our output ends`() {
        var server = Driven(CloseHandshake(role: .server, patience: Self.patience))
        let frame = CloseFrame(.messageTooBig, reason: "1 GiB")
        let record = CloseRecord(sent: frame, closedFirst: .local)
        #expect(server.handle(.fail(frame)) == [.sendClose(frame), .finished(record), .endOutput])
        #expect(server.handle(.peerClose(CloseFrame(.normal))).isEmpty)
        #expect(server.wake(after: Self.patience - .nanoseconds(1)).isEmpty)
        #expect(server.wake(after: .nanoseconds(1)) == [.endTransport])
    }

    @Test func `a violation after our close frame sends no second one and does not extend the deadline`() {
        var client = Driven(CloseHandshake(role: .client, patience: Self.patience))
        _ = client.handle(.close(CloseFrame(.normal)))
        _ = client.wake(after: .seconds(2))
        let record = CloseRecord(sent: CloseFrame(.normal), closedFirst: .local)
        #expect(client.handle(.fail(CloseFrame(.protocolError))) == [.finished(record), .endOutput])
        #expect(client.wake(after: .seconds(1)) == [.endTransport])
    }

    @Test func `the connection ends at the deadline if the peer does not answer the close frame`() {
        var client = Driven(CloseHandshake(role: .client, patience: Self.patience))
        _ = client.handle(.close(CloseFrame(.normal)))
        let record = CloseRecord(sent: CloseFrame(.normal), closedFirst: .local)
        #expect(client.wake(after: Self.patience) == [.finished(record), .endTransport])
        #expect(record.code == .abnormal)
    }

    @Test func `a client waits a limited time for the server to end TCP`() {
        var client = Driven(CloseHandshake(role: .client, linger: Self.linger))
        _ = client.handle(.peerClose(CloseFrame(.goingAway)))
        #expect(client.machine.deadline == .start + Self.linger)
        #expect(client.wake(after: Self.linger) == [.endTransport])
    }

    @Test func `a lost transport is an unclean close, and neither side closed first`() {
        var client = Driven(CloseHandshake(role: .client))
        #expect(client.handle(.transportEnded) == [.finished(CloseRecord()), .endTransport])
    }
}

extension CloseHandshake {
    fileprivate var isSettled: Bool {
        switch phase {
        case .open, .asked: false
        case .draining, .agreed, .closed: true
        }
    }
}

/// A close handshake that counts its effects.
private struct Audited: Machine, Hashable {
    var machine: CloseHandshake
    var closeFrames = 0
    var outcomes = 0
    var transportEnds = 0
    var leftOpenAt = Moment.start

    init(_ role: Role) {
        machine = CloseHandshake(role: role, patience: CloseHandshakeTests.patience, linger: CloseHandshakeTests.linger)
    }
    var isSettled: Bool { machine.isSettled }
    var deadline: Moment? { machine.deadline }

    mutating func handle(_ input: CloseHandshake.Input, at now: Moment, into effects: inout [CloseHandshake.Effect]) {
        machine.handle(input, at: now, into: &effects)
        count(effects, now)
    }
    mutating func wake(at now: Moment, into effects: inout [CloseHandshake.Effect]) {
        machine.wake(at: now, into: &effects)
        count(effects, now)
    }
    private mutating func count(_ effects: [CloseHandshake.Effect], _ now: Moment) {
        for effect in effects {
            switch effect {
            case .sendClose:
                closeFrames += 1
                leftOpenAt = now
            case .finished: outcomes += 1
            case .endTransport: transportEnds += 1
            case .endOutput: break
            }
        }
    }
}

/// A machine whose calls return their effects.
private struct Driven {
    private(set) var machine: CloseHandshake
    private var now = Moment.start

    init(_ machine: CloseHandshake) { self.machine = machine }

    mutating func handle(_ input: CloseHandshake.Input) -> [CloseHandshake.Effect] {
        var effects: [CloseHandshake.Effect] = []
        machine.handle(input, at: now, into: &effects)
        return effects
    }
    mutating func wake(after wait: Duration) -> [CloseHandshake.Effect] {
        now = now + wait
        var effects: [CloseHandshake.Effect] = []
        machine.wake(at: now, into: &effects)
        return effects
    }
}
