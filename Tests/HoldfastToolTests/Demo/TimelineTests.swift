import HoldfastTerminal
import Testing

@testable import HoldfastTool

@Suite struct TimelineTests {
    @Test func `columns line up for every party`() {
        let lines = DemoTimeline.Party.allCases.map { DemoTimeline(style: .plain).line(at: .milliseconds(1234), $0, "x") }
        #expect(lines.first == " 1.234 s  hub   x")
        #expect(Set(lines.map(\.count)).count == 1)
    }
}
