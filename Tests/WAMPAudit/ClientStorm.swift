import CodecCore
import MachineCore
package import WAMPCore

/// An app and a router with random actions.
package struct ClientStorm {
    /// What has happened, for the report of a failure.
    package enum Step: Sendable {
        case input(ClientHappening)
        case passed(Duration)
    }
    package private(set) var choices: Choices
    package private(set) var client: AuditedClient
    package private(set) var history: [Step] = []
    private var now = Moment.start
    private var next: UInt64 = 1

    package init(_ choices: Choices) {
        self.choices = choices
        var policy = ClientPolicy(realm: "realm1", joinPatience: .seconds(3), answerPatience: .seconds(3))
        (policy.maximumWaiting, policy.maximumInvocations) = (16, 3)
        client = AuditedClient(policy: policy, seed: UInt64(self.choices.pick(256)))
    }

    package mutating func step() -> [ClientEffect] {
        var effects: [ClientEffect] = []
        if choices.odds(8) {
            let wait = choices.pick([Duration.milliseconds(1), .milliseconds(100), .milliseconds(100), .seconds(1), .seconds(4)])
            pass(wait, &effects)
            history.append(.passed(wait))
        } else {
            let input = input()
            client.handle(input, at: now, into: &effects)
            history.append(.input(input))
        }
        return effects
    }

    /// The app leaves and the connection is lost; no request may be left.
    package mutating func rest() {
        var effects: [ClientEffect] = []
        for input in [ClientHappening.leave, .lose] { client.handle(input, at: now, into: &effects) }
        client.expect(client.live.isEmpty && client.deadline == nil, "no request is left after the end")
    }

    private mutating func pass(_ wait: Duration, _ effects: inout [ClientEffect]) {
        let end = now + wait
        while let next = client.deadline, next <= end, client.fault == nil {
            now = max(now, next)
            client.wake(at: now, into: &effects)
        }
        now = end
    }

    private mutating func fresh() -> UInt64 {
        next += 1
        return next
    }
    private mutating func old() -> UInt64 {
        client.live.isEmpty ? 0 : choices.pick(client.live.keys.map(\.number).sorted())
    }
    private mutating func uri() -> String { choices.pick(["com.a", "com.b"]) }

    private mutating func input() -> ClientHappening {
        switch choices.pick(200) {
        case 0..<20: .welcome
        case 20..<25: client.isOpen && !client.isSilenced && !choices.odds(9) ? .welcome : .open
        case 25: choices.odds(3) ? .lose : .welcome
        case 26..<34: .event(0, retained: false)
        case 34..<46: .call(fresh(), timeout: choices.odds(2) ? .seconds(choices.pick(5) + 1) : nil)
        case 46..<50: .callInParts(fresh())
        case 50..<55: .part(old())
        case 55..<63: .cancel(old())
        case 63..<71: .publish(fresh(), isAcknowledged: choices.odds(2))
        case 71..<86: .listen(fresh(), uri(), wantsRetained: choices.odds(3), history: choices.odds(3) ? 5 : 0)
        case 86..<96: .unsubscribe(old())
        case 96..<104: .offer(fresh(), uri())
        case 104..<110: .unregister(old())
        case 110..<145: .accept(choices.pick(3))
        case 145..<150:
            .refuse(choices.pick(3), choices.pick(["wamp.error.unavailable", "com.acme.no", WAMPURI.Error.procedureAlreadyExists]))
        case 150..<153: .progress
        case 153..<165: .event(choices.pick(3), retained: choices.odds(3))
        case 165..<168: .revokeTopic(choices.pick(2))
        case 168..<171: .revokeProcedure(choices.pick(2))
        case 171..<180: .invoke(choices.pick(3), isOpen: choices.odds(2))
        case 180..<183: .interrupt(choices.pick(3))
        case 183..<191: .yield(choices.pick(3), isFinal: !choices.odds(3))
        case 191..<195: .fail(choices.pick(3))
        case 195: choices.odds(3) ? .goodbye : .accept(0)
        case 196: choices.odds(300) ? .leave : choices.odds(3) ? .abort("com.acme.busy") : .accept(0)
        case 197: .nonsense(nonsense())
        default: .invoke(0, isOpen: true)
        }
    }

    private mutating func number() -> WAMPID { choices.pick([0, 1, 2, 3, 50, 1001, .largestWAMPID, .max]) }

    private mutating func nonsense() -> WAMPMessage {
        switch choices.pick(10) {
        case 0: .result(request: number(), details: [:], .none)
        case 1: .error(choices.pick(WAMPRequestKind.allCases), request: number(), details: [:], uri: "com.acme.no", .none)
        case 2: .subscribed(request: number(), subscription: number())
        case 3: .registered(request: number(), registration: number())
        case 4: .unsubscribed(request: number(), details: ["subscription": Value(number())])
        case 5: .unregistered(request: number(), details: ["registration": Value(number())])
        case 6: .event(subscription: number(), publication: number(), details: ["retained": true], .none)
        case 7: .interrupt(request: number(), options: [:])
        case 8: .published(request: number(), publication: number())
        default: .challenge(method: "ticket", extra: [:])
        }
    }
}
