import Holdfast
import Testing

@testable import HoldfastTerminal

@Suite struct CloseRecordPhraseTests {
    @Test func `the peer's code is named and explained`() {
        let record = CloseRecord(
            sent: CloseFrame(.goingAway), received: CloseFrame(.goingAway, reason: "bye\u{1B}\n"), closedFirst: .remote, isClean: true)
        #expect(record.phrase == #"the other side closed: 1001 (going away) "bye\u{1B}\n". "# + CloseCode.goingAway.meaning)
    }

    @Test func `our own close is short, answered or not`() {
        let answered = CloseRecord(sent: CloseFrame(.normal), received: CloseFrame(.normal), closedFirst: .local, isClean: true)
        #expect(answered.phrase == "closed: 1000 (normal closure)")
        let unanswered = CloseRecord(sent: CloseFrame(.normal), closedFirst: .local, isClean: false)
        #expect(unanswered.phrase == "closed, but the other side did not answer the close frame")
    }

    @Test func `a loss is no close`() {
        #expect(CloseRecord().phrase == "lost without a close handshake: 1006 (abnormal closure)")
    }
}
