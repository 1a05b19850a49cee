import MachineCore
import Testing
import WebSocketCore

@Suite struct LateAlarmTests {
    private func moment(_ milliseconds: Int) -> Moment { .start + .milliseconds(milliseconds) }

    @Test func `an alarm that rings very late is put off once, and one that is nearly in time is not`() {
        var late = LateAlarm()
        #expect(late.rings(due: moment(1000), at: moment(1000)) == nil && late.rings(due: moment(1000), at: moment(1500)) == nil)
        #expect(late.rings(due: moment(1000), at: moment(1501)) == moment(1521))
        // However busy the loop is then: it has read once.
        #expect(late.rings(due: moment(1521), at: moment(9000)) == nil)
        #expect(late.rings(due: moment(9000), at: moment(9600)) == moment(9620))
        #expect(late.rings(due: nil, at: moment(99_000)) == nil)
    }
}
