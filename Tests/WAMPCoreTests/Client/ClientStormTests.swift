import CodecCore
import HoldfastTesting
import MachineCore
import Testing

@testable import WAMPCore

/// An app and a router that do anything at any time.
@Suite struct ClientStormTests {
    private struct Storm {
        var generator: SeededGenerator
        var client: AuditedClient
        var now = Moment.start
        var next: UInt64 = 1
        var history: [String] = []

        init(seed: UInt64) {
            generator = SeededGenerator(seed: seed)
            var policy = ClientPolicy(realm: "realm1", joinPatience: .seconds(3), answerPatience: .seconds(3))
            (policy.maximumWaiting, policy.maximumInvocations) = (16, 3)
            client = AuditedClient(policy: policy, seed: seed)
        }

        mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
        mutating func fresh() -> UInt64 {
            next += 1
            return next
        }
        mutating func old() -> UInt64 { client.live.keys.map(\.number).sorted().randomElement(using: &generator) ?? 0 }
        mutating func uri() -> String { ["com.a", "com.b"][pick(2)] }

        mutating func input() -> AuditedClient.Input {
            switch pick(200) {
            case 0..<20: .welcome
            case 20..<25: client.isOpen && !client.isSilenced && pick(9) > 0 ? .welcome : .open
            case 25: pick(3) == 0 ? .lose : .welcome
            case 26..<34: .event(0, retained: false)
            case 34..<46: .call(fresh(), timeout: pick(2) == 0 ? .seconds(pick(5) + 1) : nil)
            case 46..<50: .callInParts(fresh())
            case 50..<55: .part(old())
            case 55..<63: .cancel(old())
            case 63..<71: .publish(fresh(), isAcknowledged: pick(2) == 0)
            case 71..<86: .listen(fresh(), uri(), wantsRetained: pick(3) == 0, history: pick(3) == 0 ? 5 : 0)
            case 86..<96: .unsubscribe(old())
            case 96..<104: .offer(fresh(), uri())
            case 104..<110: .unregister(old())
            case 110..<145: .accept(pick(3))
            case 145..<150: .refuse(pick(3), ["wamp.error.unavailable", "com.acme.no", WAMPURI.Error.procedureAlreadyExists][pick(3)])
            case 150..<153: .progress
            case 153..<165: .event(pick(3), retained: pick(3) == 0)
            case 165..<168: .revokeTopic(pick(2))
            case 168..<171: .revokeProcedure(pick(2))
            case 171..<180: .invoke(pick(3), isOpen: pick(2) == 0)
            case 180..<183: .interrupt(pick(3))
            case 183..<191: .yield(pick(3), isFinal: pick(3) > 0)
            case 191..<195: .fail(pick(3))
            case 195: pick(3) == 0 ? .goodbye : .accept(0)
            case 196: pick(300) == 0 ? .leave : pick(3) == 0 ? .abort("com.acme.busy") : .accept(0)
            case 197: .nonsense(nonsense())
            default: .invoke(0, isOpen: true)
            }
        }

        mutating func number() -> WAMPID { [0, 1, 2, 3, 50, 1001, .largestWAMPID, .max][pick(8)] }

        mutating func nonsense() -> WAMPMessage {
            switch pick(10) {
            case 0: .aResult(number())
            case 1: .aRefusal(WAMPRequestKind.allCases.randomElement(using: &generator)!, number(), "com.acme.no")
            case 2: .subscribed(request: number(), subscription: number())
            case 3: .registered(request: number(), registration: number())
            case 4: .unsubscribed(request: number(), details: ["subscription": Value(number())])
            case 5: .unregistered(request: number(), details: ["registration": Value(number())])
            case 6: .anEvent(number(), number(), ["retained": true])
            case 7: .interrupt(request: number(), options: [:])
            case 8: .published(request: number(), publication: number())
            default: .challenge(method: "ticket", extra: [:])
            }
        }

        mutating func step() -> [ClientEffect] {
            var effects: [ClientEffect] = []
            if pick(8) == 0 {
                let wait: Duration = [.milliseconds(1), .milliseconds(100), .milliseconds(100), .seconds(1), .seconds(4)][pick(5)]
                let end = now + wait
                while let next = client.deadline, next <= end {
                    now = max(now, next)
                    client.wake(at: now, into: &effects)
                    if client.fault != nil { break }
                }
                now = end
                history.append("time passed: \(wait)")
            } else {
                let input = input()
                client.handle(input, at: now, into: &effects)
                history.append("\(input)")
            }
            return effects
        }
    }

    @Test(arguments: UInt64(1)...24)
    func `whatever app and router do, everything ends once`(seed: UInt64) throws {
        var storm = Storm(seed: seed)
        for _ in 0..<1500 {
            let effects = storm.step()
            try #require(
                storm.client.fault == nil, "\(storm.client.fault ?? ""): \(storm.history.suffix(60).joined(separator: "\n"))\n\(effects)")
        }
        var effects: [ClientEffect] = []
        for input in [AuditedClient.Input.leave, .lose] { storm.client.handle(input, at: storm.now, into: &effects) }
        #expect(storm.client.fault == nil)
        #expect(storm.client.live.isEmpty)
        #expect(storm.client.deadline == nil)
    }

    @Test func `the storm does blow: sessions are joined, and everything happens in them`() {
        var counts: [String: Int] = [:]
        for seed in UInt64(1)...12 {
            var storm = Storm(seed: seed)
            for _ in 0..<1000 {
                for effect in storm.step() {
                    guard case .news(let news) = effect else { continue }
                    counts[String("\(news)".prefix { $0 != "(" }), default: 0] += 1
                }
            }
        }
        let kinds = [
            "joined", "parted", "result", "published", "failed", "subscribed", "event", "gap", "registered", "suspended", "invoked",
            "interrupted",
        ]
        for kind in kinds { #expect(counts[kind, default: 0] > 50, "\(kind): \(counts)") }
    }
}
