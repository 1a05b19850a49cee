import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable import WAMPCore

@Suite struct ClientInvocationTests {
    /// A client that offers `com.add` as 1, registered as 5.
    private func offering(_ policy: ClientPolicy = ClientPolicy(realm: "realm1")) -> ClientBench {
        var bench = ClientBench.joined(policy: policy)
        bench.handle(.offer(1))
        bench.receive(.registered(request: 1, registration: 5))
        _ = bench.look()
        return bench
    }
    /// A handle that the machine made, from 0.
    private func own(_ number: UInt64) -> ClientHandle { ClientHandle(1 << 63 + number) }
    private func yielded(_ request: WAMPID, _ options: ValueMap = [:]) -> ClientEffect {
        .send(.yield(request: request, options: options, .none))
    }
    private func refused(_ request: WAMPID, _ uri: String) -> ClientEffect { .send(.aRefusal(.invocation, request, uri)) }

    @Test func `an invocation is delivered and answered once`() {
        var bench = offering()
        bench.receive(.invocation(request: 7, registration: 5, details: ["caller": 3], WAMPArguments([1])))
        #expect(bench.look() == [.event(.invoked(own(0), procedure: 1, details: ["caller": 3], WAMPArguments([1])))])
        bench.handle(.yield(own(0), .none, isFinal: true), .yield(own(0), .none, isFinal: true), .fail(own(0), uri: "a.b", .none))
        #expect(bench.look() == [yielded(7)])
    }

    @Test func `a failed handler sends ERROR with its URI, or with runtime_error if its URI is invalid`() {
        var bench = offering()
        bench.receive(.anInvocation(1, 5), .anInvocation(2, 5))
        _ = bench.look()
        bench.handle(.fail(own(0), uri: "com.acme.wrong", .none), .fail(own(1), uri: "no URI", .none))
        #expect(bench.look() == [refused(1, "com.acme.wrong"), refused(2, "wamp.error.runtime_error")])
    }

    @Test func `progressive results are sent only to a caller that asked for them`() {
        var bench = offering()
        bench.receive(.anInvocation(1, 5, ["receive_progress": true]), .anInvocation(2, 5))
        _ = bench.look()
        bench.handle(.yield(own(0), .none, isFinal: false), .yield(own(1), .none, isFinal: false))
        #expect(bench.look() == [yielded(1, ["progress": true])])
        bench.handle(.yield(own(0), .none, isFinal: true), .yield(own(1), .none, isFinal: true))
        #expect(bench.look() == [yielded(1), yielded(2)])
    }

    @Test func `an interrupted handler is told once, answers once, and sends no more progressive results`() {
        var bench = offering()
        bench.receive(.anInvocation(1, 5, ["receive_progress": true]))
        _ = bench.look()
        bench.receive(.interrupt(request: 1, options: ["reason": "wamp.error.timeout"]), .interrupt(request: 1, options: [:]))
        bench.receive(.interrupt(request: 99, options: [:]))
        #expect(bench.look() == [.event(.interrupted(own(0), reason: "wamp.error.timeout"))])
        bench.handle(.yield(own(0), .none, isFinal: false), .fail(own(0), uri: "wamp.error.canceled", .none))
        #expect(bench.look() == [refused(1, "wamp.error.canceled")])
    }

    @Test func `an invocation of an earlier session gets no answer in the next one`() {
        var bench = offering()
        bench.receive(.anInvocation(1, 5), .anInvocation(2, 5), .interrupt(request: 2, options: [:]))
        _ = bench.look()
        bench.handle(.lost)
        #expect(bench.look() == [.event(.parted), .event(.interrupted(own(0), reason: nil)), .event(.suspended(1))])
        bench.join()
        bench.receive(.registered(request: 1, registration: 5), .anInvocation(1, 5))
        _ = bench.look()
        bench.handle(.yield(own(0), .none, isFinal: true), .fail(own(1), uri: "a.b", .none))
        #expect(bench.look() == [])
        bench.handle(.yield(own(2), .none, isFinal: true))
        #expect(bench.look() == [yielded(1)])
    }

    @Test func `an invocation without a registration is refused`() {
        var bench = offering()
        bench.receive(.anInvocation(1, 6))
        #expect(bench.look() == [refused(1, "wamp.error.no_such_registration")])
        bench.handle(.unregister(1))
        bench.receive(.anInvocation(2, 5))
        #expect(bench.look() == [.unregister(2, 5), refused(2, "wamp.error.no_such_registration")])
    }

    @Test func `the number of concurrent invocations of a procedure is limited`() {
        var policy = ClientPolicy(realm: "realm1")
        policy.maximumInvocations = 2
        var bench = offering(policy)
        bench.receive(.anInvocation(1, 5), .anInvocation(2, 5), .anInvocation(3, 5))
        #expect(bench.look().last == refused(3, "wamp.error.unavailable"))
        bench.handle(.yield(own(0), .none, isFinal: true))
        bench.receive(.anInvocation(4, 5))
        guard case .event(.invoked)? = bench.look().last else { return #expect(Bool(false), "an invocation has ended, so another may run") }
    }

    @Test func `an invocation continues while its procedure is unregistered`() {
        var bench = offering()
        bench.receive(.anInvocation(1, 5))
        bench.handle(.unregister(1))
        bench.receive(.unregistered(request: 2, details: [:]))
        _ = bench.look()
        bench.handle(.yield(own(0), .none, isFinal: true))
        #expect(bench.look() == [yielded(1)])
    }

    @Test func `a repeated INVOCATION brings more input until the last part`() {
        var bench = offering()
        bench.receive(
            .anInvocation(1, 5, ["progress": true]), .anInvocation(1, 5, ["progress": true]), .anInvocation(1, 5), .anInvocation(1, 5))
        #expect(
            bench.look() == [
                .event(.invoked(own(0), procedure: 1, details: ["progress": true], .none)),
                .event(.invokedFurther(own(0), .none, isFinal: false)), .event(.invokedFurther(own(0), .none, isFinal: true)),
            ])
    }

    @Test func `an interrupted handler gets no more input`() {
        var bench = offering()
        bench.receive(.anInvocation(1, 5, ["progress": true]), .interrupt(request: 1, options: [:]))
        _ = bench.look()
        bench.receive(.anInvocation(1, 5))
        #expect(bench.look() == [])
    }

    @Test func `input after the answer is ignored up to its last part`() {
        var bench = offering()
        bench.receive(.anInvocation(1, 5, ["progress": true]))
        bench.handle(.yield(own(0), .none, isFinal: true))
        _ = bench.look()
        bench.receive(.anInvocation(1, 5, ["progress": true]), .anInvocation(1, 5))
        #expect(bench.look() == [])
        bench.receive(.anInvocation(1, 5))
        #expect(bench.news().count == 1, "after that, the id may be that of a new invocation")
    }

    @Test func `the number of answered invocations whose input is still open is limited`() {
        var table = InvocationTable()
        for request in WAMPID(1)...1025 {
            table.begin(.init(request: request, procedure: 1, wantsProgress: false, isOpen: true), as: ClientHandle(request))
            _ = table.end(ClientHandle(request))
        }
        let remembered = [1, 2, 1025].map { table.isUnread($0, hasMore: true) }
        #expect(remembered == [false, true, true])
    }
}
