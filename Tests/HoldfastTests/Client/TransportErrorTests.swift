import Testing
import WebSocketCore
import WebSocketRuntime

@Suite struct TransportErrorTests {
    @Test func `changing a copy of an error does not change the original`() {
        let first = TransportError(.lost, "the link failed")
        var second = first
        second.body = [1]
        second.record = CloseRecord()
        #expect(first.body.isEmpty && first.record == nil)
        #expect(second.body == [1] && second.record != nil && second.code == .lost && second.detail == "the link failed")
    }
}
