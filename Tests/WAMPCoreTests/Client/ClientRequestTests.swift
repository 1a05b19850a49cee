import Testing
import WAMPCore

@Suite struct ClientRequestTests {
    @Test func `requests that waited for the session are sent in their order`() {
        var bench = ClientBench()
        bench.handle(.publish(1, topic: "com.chat", .none, PublishOptions()), .call(2), .call(3))
        bench.join()
        #expect(bench.sent().map(\.name) == ["HELLO", "PUBLISH", "CALL", "CALL"])
    }

    @Test func `a call with a result has no deadline and cannot be cancelled`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(timeout: .seconds(5))))
        bench.receive(.aResult(1))
        _ = bench.look()
        #expect(bench.machine.deadline == nil)
        bench.handle(.cancel(1))
        #expect(bench.look().isEmpty)
    }
}
