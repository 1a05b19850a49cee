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

    /// A client whose router has taken the testament, as its first request.
    private func left() -> ClientBench {
        var bench = ClientBench.joined()
        var options = CallOptions()
        options.testament = testament
        bench.handle(.call(1, procedure: Testament.procedure, testament.call, options))
        bench.receive(.aResult(1))
        #expect(bench.news() == [.result(1, details: [:], .none, isFinal: true)])
        return bench
    }

    /// The call that hands it in again.
    private func again(_ id: WAMPID = 1) -> ClientEffect { .call(id, [:], Testament.procedure, testament.call) }

    @Test func `each session gets the testaments that the router has taken, and the app hears nothing of it`() {
        var bench = left()
        for _ in 1...2 {
            bench.rejoin()
            #expect(bench.look().last == again())
            bench.receive(.aResult(1))
            #expect(bench.look() == [])
            #expect(bench.machine.deadline == nil)
        }
    }

    @Test func `what the router has not taken is not handed in again`() {
        var bench = ClientBench.joined()
        var options = CallOptions()
        options.testament = testament
        bench.handle(.call(1, procedure: Testament.procedure, testament.call, options))
        bench.receive(.aRefusal(.call, 1, "wamp.error.not_authorized"))
        bench.rejoin()
        #expect(bench.look().last != again())
    }

    @Test func `a scope that is forgotten is not handed in again`() {
        var bench = left()
        bench.handle(.forgetTestaments(.detached))
        bench.rejoin()
        #expect(bench.look().last == again())
        bench.handle(.forgetTestaments(.destroyed))
        bench.rejoin()
        #expect(bench.look().last != again())
    }

    @Test func `the app is told when a later session does not have it, and the next one tries again`() {
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
        #expect(!bench.look().contains { if case .event(.testamentFailed) = $0 { true } else { false } }, "the next session gets it")
    }
}
