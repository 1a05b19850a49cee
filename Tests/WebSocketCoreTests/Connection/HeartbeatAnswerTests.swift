import MachineCore
import Testing
import WebSocketCore

/// Heartbeats that use another request than a ping.
@Suite struct HeartbeatAnswerTests {
    @Test func `an answer gives the round trip of the automatic ping, and not of an app's ping`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        let own = heart.ping(at: 20)
        _ = heart.handle(.written(own), at: 21)
        let requested = heart.request(7, patience: .seconds(30), at: 22)
        _ = heart.handle(.written(requested), at: 22)
        #expect(heart.handle(.answered, at: 24) == [.roundTrip(id: nil, .seconds(3))])
        #expect(heart.handle(.answered, at: 25).isEmpty, "a second answer is ignored")
        #expect(heart.handle(.pong(requested), at: 26) == [.roundTrip(id: 7, .seconds(4))])
    }

    @Test func `any answer counts as activity, also an unrequested one`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        #expect(heart.handle(.answered, at: 15).isEmpty)
        #expect(heart.wake(at: 34).isEmpty)
        #expect(heart.wake(at: 35).count == 1)
    }

    @Test func `a postponed heartbeat is sent one interval later, and the peer is not declared dead before`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5), stall: .seconds(6))
        _ = heart.ping(at: 20)
        #expect(heart.handle(.postponed, at: 20).isEmpty)
        #expect(heart.wake(at: 39).isEmpty)
        let payload = heart.ping(at: 40)
        _ = heart.handle(.written(payload), at: 40)
        #expect(heart.wake(at: 45) == [.dead])
    }

    @Test func `an app's ping is not postponed`() {
        var heart = DrivenHeartbeat(interval: nil)
        let payload = heart.request(7, at: 0)
        _ = heart.handle(.postponed, at: 0)
        #expect(heart.handle(.pong(payload), at: 1) == [.roundTrip(id: 7, .seconds(1))])
    }

    @Test func `an automatic ping is distinguished from the app's pings`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        let requested = heart.request(7, at: 0)
        let own = heart.ping(at: 20)
        #expect(heart.machine.isAutomatic(own) && !heart.machine.isAutomatic(requested))
        #expect(!heart.machine.isAutomatic([1, 2, 3]))
        _ = heart.handle(.pong(own), at: 21)
        #expect(!heart.machine.isAutomatic(own), "the ping was answered")
    }

    @Test func `a ping meets silence if it was written and no byte arrived since`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        #expect(!heart.machine.meetsSilence)
        let payload = heart.ping(at: 20)
        #expect(!heart.machine.meetsSilence, "the ping was not written yet")
        _ = heart.handle(.written(payload), at: 21)
        #expect(heart.machine.meetsSilence)
        _ = heart.handle(.activity, at: 22)
        #expect(!heart.machine.meetsSilence)
    }

    @Test func `by default a ping is due after 20 s and its answer 10 s later`() {
        var heart = Heartbeat(seed: 1)
        #expect(heart.deadline == Moment(.seconds(20)))
        var effects: [Heartbeat.Effect] = []
        heart.wake(at: Moment(.seconds(20)), into: &effects)
        for case .sendPing(let payload) in effects { heart.handle(.written(payload), at: Moment(.seconds(20)), into: &effects) }
        #expect(heart.deadline == Moment(.seconds(30)))
    }
}

@Suite struct PingQuestionsTests {
    private let patience = Duration.seconds(10)
    private func at(_ second: Int) -> Moment { Moment(.seconds(second)) }

    @Test func `answers belong to questions in order, and only the last one answers the newest question`() {
        var questions = PingQuestions()
        questions.ask(at: at(0), patience: patience)
        questions.ask(at: at(1), patience: patience)
        #expect(questions.answer() == false)
        #expect(!questions.isEmpty)
        #expect(questions.answer() == true)
        #expect(questions.isEmpty)
    }

    @Test func `an answer without a question is ignored`() {
        var questions = PingQuestions()
        #expect(questions.isEmpty)
        #expect(questions.answer() == false)
    }

    @Test func `an expired question does not take the answer of the next`() {
        var questions = PingQuestions()
        questions.ask(at: at(0), patience: patience)
        questions.ask(at: at(11), patience: patience)
        #expect(questions.answer() == true, "the first question expired")
        #expect(questions.isEmpty)
    }

    @Test func `a late answer counts if no other question follows`() {
        var questions = PingQuestions()
        questions.ask(at: at(0), patience: patience)
        #expect(!questions.isEmpty)
        #expect(questions.answer() == true)
    }
}
