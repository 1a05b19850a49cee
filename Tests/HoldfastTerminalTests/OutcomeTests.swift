import Testing
import WebSocketCore

@testable import HoldfastTerminal

@Suite struct OutcomeTests {
    @Test(arguments: [
        (CloseRecord.Side.local, CloseCode.normal as CloseCode?, true, Outcome.clean), (.remote, .normal, true, .clean),
        (.remote, .goingAway, true, .clean), (.remote, nil, true, .clean), (.remote, .internalError, true, .closedWithError),
        (.remote, CloseCode(rawValue: 4001), true, .closedWithError), (.local, .normal, false, .lost),
    ])
    func `a close tells how the tool ends`(side: CloseRecord.Side, code: CloseCode?, isClean: Bool, status: Outcome) {
        let record = CloseRecord(sent: CloseFrame(.normal), received: CloseFrame(code), closedFirst: side, isClean: isClean)
        #expect(Outcome(closing: record) == status)
    }

    @Test func `every status stands in the table once`() {
        #expect(Set(Outcome.allCases.map(\.meaning)).count == Outcome.allCases.count)
        #expect(Outcome.table.split(separator: "\n").count == Outcome.allCases.count + 1)
    }
}
