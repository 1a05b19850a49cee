import MachineCore
import Testing
import WebSocketCore

@Suite struct LateAlarmTests {
    private func moment(_ milliseconds: Int) -> Moment { .start + .milliseconds(milliseconds) }

    @Test func `a very late alarm is deferred once, and an alarm that is nearly on time is not`() {
        var late = LateAlarm()
        #expect(late.rings(due: moment(1000), at: moment(1000)) == nil && late.rings(due: moment(1000), at: moment(1500)) == nil)
        #expect(late.rings(due: moment(1000), at: moment(1501)) == moment(1521))
        // After one deferral the event loop has read once, however busy it is.
        #expect(late.rings(due: moment(1521), at: moment(9000)) == nil)
        #expect(late.rings(due: moment(9000), at: moment(9600)) == moment(9620))
        #expect(late.rings(due: nil, at: moment(99_000)) == nil)
    }
}
