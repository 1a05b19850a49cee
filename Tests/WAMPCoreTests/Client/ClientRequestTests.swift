import Testing
import WAMPCore

@Suite struct ClientRequestTests {
    @Test func `what waited for the session is sent in the order in which it came`() {
        var bench = ClientBench()
        bench.handle(.publish(1, topic: "com.chat", .none, PublishOptions()), .call(2), .call(3))
        bench.join()
        #expect(bench.sent().map(\.name) == ["HELLO", "PUBLISH", "CALL", "CALL"])
    }

    @Test func `a call that has its result waits for nothing more, and cannot be cancelled`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(timeout: .seconds(5))))
        bench.receive(.aResult(1))
        _ = bench.look()
        #expect(bench.machine.deadline == nil)
        bench.handle(.cancel(1))
        #expect(bench.look().isEmpty)
    }
}
