import Board
import HoldfastProtocols
import HoldfastTesting
import Testing

/// All events of a client of boards, in every order.
@Suite struct BoardExplorationTests {
    // snippet.EXPLORE
    /// The rules, and what was seen of them so far.
    struct Audited: Machine, Hashable {
        var rules = BoardRules(name: "me", seed: 1)
        var (isOpen, isWelcome) = (false, false)
        var posts = 0
        var ends = 0
        var deadline: Moment? { rules.deadline }

        mutating func handle(_ input: BoardRules.Input, at now: Moment, into effects: inout [BoardRules.Effect]) {
            switch input {
            case .opened where isOpen, .lost where !isOpen, .received where !isOpen: return  // It cannot happen.
            case .opened: isOpen = true
            case .lost: (isOpen, isWelcome) = (false, false)
            case .received(.welcome): isWelcome = true
            case .command(.post): posts += 1
            default: break
            }
            rules.handle(input, at: now, into: &effects)
            note(effects)
        }

        mutating func wake(at now: Moment, into effects: inout [BoardRules.Effect]) {
            rules.wake(at: now, into: &effects)
            note(effects)
        }

        private mutating func note(_ effects: [BoardRules.Effect]) {
            for case .event(let event) in effects where event.request == RequestID(1) && event.isLast { ends += 1 }
        }
    }

    @Test func `whatever happens, only hello is sent before the welcome, and a post ends once`() throws {
        let inputs: [BoardRules.Input] = [
            .received(.welcome), .received(.ack(id: 1)), .received(.refused(id: 1, reason: "")), .received(.following(id: 2)),
            .received(.item(id: 2, number: 1, text: "")), .lost(unsent: []), .opened(nil),
            .command(.post(RequestID(1), channel: "a", text: "x", patience: .seconds(9))),
            .command(.follow(RequestID(2), channel: "a", after: 0)), .command(.leave(RequestID(2))),
        ]
        let states = try explore(Audited(), inputs: inputs, depth: 6, tick: .seconds(3)) { step in
            let sent = step.effects.compactMap { if case .send(let request) = $0 { request } else { nil } }
            if !step.after.isWelcome { try #require(sent.allSatisfy { $0 == .hello(name: "me") }, "\(step)") }
            try #require(step.after.ends <= step.after.posts, "\(step)")
        }
        #expect(states > 300)
    }
    // snippet.end
}
