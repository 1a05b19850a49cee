import MachineCore
import Testing
import WebSocketCore

/// A heartbeat that asks with something else than a ping.
@Suite struct HeartbeatAnswerTests {
    @Test func `an answer tells the round trip of the automatic ping, and of no other`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        let own = heart.ping(at: 20)
        _ = heart.handle(.written(own), at: 21)
        let requested = heart.request(7, patience: .seconds(30), at: 22)
        _ = heart.handle(.written(requested), at: 22)
        #expect(heart.handle(.answered, at: 24) == [.roundTrip(id: nil, .seconds(3))])
        #expect(heart.handle(.answered, at: 25).isEmpty, "a second answer is none")
        #expect(heart.handle(.pong(requested), at: 26) == [.roundTrip(id: 7, .seconds(4))])
    }

    @Test func `an answer is life, also one that nobody asked for`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        #expect(heart.handle(.answered, at: 15).isEmpty)
        #expect(heart.wake(at: 34).isEmpty)
        #expect(heart.wake(at: 35).count == 1)
    }

    @Test func `what cannot be asked is held against nobody, and is asked an interval later`() {
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

    @Test func `a ping that nobody asked for is told apart`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        let requested = heart.request(7, at: 0)
        let own = heart.ping(at: 20)
        #expect(heart.machine.isAutomatic(own) && !heart.machine.isAutomatic(requested))
        #expect(!heart.machine.isAutomatic([1, 2, 3]))
        _ = heart.handle(.pong(own), at: 21)
        #expect(!heart.machine.isAutomatic(own), "it has its answer")
    }

    @Test func `only a ping that has left and was met by no byte meets silence`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        #expect(!heart.machine.meetsSilence)
        let payload = heart.ping(at: 20)
        #expect(!heart.machine.meetsSilence, "it has not left")
        _ = heart.handle(.written(payload), at: 21)
        #expect(heart.machine.meetsSilence)
        _ = heart.handle(.activity, at: 22)
        #expect(!heart.machine.meetsSilence)
    }

    @Test func `unless told, a ping is due after 20 s and its answer 10 s later`() {
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

    @Test func `answers come in order, and the last is that of the newest question`() {
        var questions = PingQuestions()
        questions.ask(at: at(0), patience: patience)
        questions.ask(at: at(1), patience: patience)
        #expect(questions.answer() == false)
        #expect(!questions.isEmpty)
        #expect(questions.answer() == true)
        #expect(questions.isEmpty)
    }

    @Test func `an answer to nothing is none`() {
        var questions = PingQuestions()
        #expect(questions.isEmpty)
        #expect(questions.answer() == false)
    }

    @Test func `a question that was never answered does not stand before the next`() {
        var questions = PingQuestions()
        questions.ask(at: at(0), patience: patience)
        questions.ask(at: at(11), patience: patience)
        #expect(questions.answer() == true, "the first was given up")
        #expect(questions.isEmpty)
    }

    @Test func `a late answer is still one, before the next question`() {
        var questions = PingQuestions()
        questions.ask(at: at(0), patience: patience)
        #expect(!questions.isEmpty)
        #expect(questions.answer() == true)
    }
}
