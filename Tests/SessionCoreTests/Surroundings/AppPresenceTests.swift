import HoldfastTesting
import MachineCore
import SessionCore
import Testing

@Suite struct AppPresenceTests {
    private let start = Moment.start

    private func effects(
        _ presence: inout AppPresence, _ input: AppPresence.Input, at offset: Duration = .zero
    ) -> [AppPresence.Effect] {
        var effects: [AppPresence.Effect] = []
        presence.handle(input, at: start + offset, into: &effects)
        return effects
    }

    private func wake(_ presence: inout AppPresence, at offset: Duration) -> [AppPresence.Effect] {
        var effects: [AppPresence.Effect] = []
        presence.wake(at: start + offset, into: &effects)
        return effects
    }

    @Test func `background time is requested before the sockets learn that the app left`() {
        var presence = AppPresence()
        #expect(effects(&presence, .left) == [.borrow, .notify(.background)])
        #expect(effects(&presence, .left).isEmpty)
    }

    @Test func `without extra time only the event is reported`() {
        var presence = AppPresence(extraTime: nil)
        #expect(effects(&presence, .left) == [.notify(.background)])
        #expect(presence.deadline == nil)
        #expect(effects(&presence, .returned) == [.notify(.foreground)])
    }

    @Test func `background time is returned at its end, and the return of the app is still reported`() {
        var presence = AppPresence(extraTime: .seconds(20))
        _ = effects(&presence, .left, at: .seconds(1))
        #expect(presence.deadline == start + .seconds(21))
        #expect(wake(&presence, at: .seconds(20)).isEmpty)
        #expect(wake(&presence, at: .seconds(21)) == [.giveBack])
        #expect(effects(&presence, .expired).isEmpty)
        #expect(effects(&presence, .returned) == [.notify(.foreground)])
    }

    @Test func `the return of the app ends the background time at once`() {
        var presence = AppPresence()
        _ = effects(&presence, .left)
        #expect(effects(&presence, .returned) == [.giveBack, .notify(.foreground)])
        #expect(presence.phase == .present)
    }

    @Test(arguments: [AppPresence.Input.expired, .ending])
    func `when the system ends the background time the connection is dropped first`(input: AppPresence.Input) {
        var presence = AppPresence()
        _ = effects(&presence, .left)
        #expect(effects(&presence, input) == [.notify(.suspended), .giveBack])
    }

    @Test func `sleep and wake of a Mac are reported`() {
        var presence = AppPresence()
        #expect(effects(&presence, .ending) == [.notify(.suspended)])
        #expect(effects(&presence, .returned) == [.notify(.foreground)])
    }

    /// All sequences of six events.
    ///
    /// `nil` lets the deadline pass.
    @Test func `in every sequence of events background time is requested and returned alternately`() {
        let events: [AppPresence.Input?] = [.left, .returned, .expired, .ending, nil]
        for number in 0..<15_625 {
            var (presence, borrowed, rest) = (AppPresence(extraTime: .seconds(20)), false, number)
            for step in 0..<6 {
                let now = Duration.seconds(step)
                var orders: [AppPresence.Effect] = []
                if let event = events[rest % 5] {
                    orders = effects(&presence, event, at: now)
                } else if let deadline = presence.deadline {
                    presence.wake(at: deadline, into: &orders)
                }
                rest /= 5
                for order in orders {
                    guard order == .borrow || order == .giveBack else { continue }
                    #expect(borrowed == (order == .giveBack))
                    borrowed = order == .borrow
                }
                #expect(borrowed == (presence.deadline != nil))
            }
        }
    }
}
