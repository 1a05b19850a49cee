import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable import WAMPCore

@Suite struct ClientTestamentTests {
    private let testament: Testament

    init() throws {
        testament = try Testament(topic: "com.gone", arguments: WAMPArguments(["bye"]), options: PublishOptions(), scope: .destroyed)
    }

    /// A client whose router has accepted the testament as its first request.
    private func left() -> ClientBench {
        var bench = ClientBench.joined()
        var options = CallOptions()
        options.testament = testament
        bench.handle(.call(1, procedure: Testament.procedure, testament.call, options))
        bench.receive(.aResult(1))
        #expect(bench.news() == [.result(1, details: [:], .none, isFinal: true)])
        return bench
    }

    /// The call that adds the testament again.
    private func again(_ id: WAMPID = 1) -> ClientEffect { .call(id, [:], Testament.procedure, testament.call) }

    @Test func `each session gets the testaments that the router accepted, without news for the app`() {
        var bench = left()
        for _ in 1...2 {
            bench.rejoin()
            #expect(bench.look().last == again())
            bench.receive(.aResult(1))
            #expect(bench.look() == [])
            #expect(bench.machine.deadline == nil)
        }
    }

    @Test func `a refused testament is not added again`() {
        var bench = ClientBench.joined()
        var options = CallOptions()
        options.testament = testament
        bench.handle(.call(1, procedure: Testament.procedure, testament.call, options))
        bench.receive(.aRefusal(.call, 1, "wamp.error.not_authorized"))
        bench.rejoin()
        #expect(bench.look().last != again())
    }

    @Test func `a flushed scope is not added again`() {
        var bench = left()
        bench.handle(.forgetTestaments(.detached))
        bench.rejoin()
        #expect(bench.look().last == again())
        bench.handle(.forgetTestaments(.destroyed))
        bench.rejoin()
        #expect(bench.look().last != again())
    }

    @Test func `the app hears that a later session refused the testament, and the next session tries again`() {
        var bench = left()
        bench.rejoin()
        _ = bench.look()
        bench.receive(.aRefusal(.call, 1, "wamp.error.not_authorized"))
        #expect(bench.look() == [.event(.testamentFailed(.refused(uri: "wamp.error.not_authorized", arguments: .none)))])
        bench.rejoin()
        #expect(bench.look().last == again())
        bench.pass(.seconds(60))
        #expect(bench.look() == [.event(.testamentFailed(.timedOut(wasSent: true)))])
        bench.rejoin()
        _ = bench.look()
        bench.handle(.lost)
        #expect(!bench.look().contains { if case .event(.testamentFailed) = $0 { true } else { false } }, "the next session has it")
    }
}
