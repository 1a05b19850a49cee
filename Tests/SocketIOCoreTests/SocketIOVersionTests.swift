import CodecCore
import MachineCore
import ProtocolCore
import SocketIOCore
import Testing
import WebSocketCore

/// What is different in protocol 4: the server connects `/`, and the client pings.
@Suite struct SocketIOVersionTests {
    private typealias Bench = SocketIOBench

    private func bench(joining names: String..., open: Bool = true) -> SocketIOBench {
        var bench = Bench { $0.version = .v4 }
        for (number, name) in names.enumerated() { bench.perform(.join(RequestID(UInt64(number + 1000)), name, hasPayload: false)) }
        if open { bench.open(EngineHandshake(sid: "e", pingInterval: .seconds(25), pingTimeout: .seconds(5))) }
        return bench
    }
    private func state(_ bench: SocketIOBench, _ name: String = "/") -> SocketIONamespace.State? { bench.machine.state(of: name)?.state }
    private let connected = SocketIONamespace.State.connected(sid: "e", isRecovered: false)

    // MARK: - Namespaces

    @Test func `the server connects the root on its own, and others when it is asked`() {
        var bench = bench(joining: "/", "/chat", open: false)
        bench.emit(1)
        bench.open()
        #expect(bench.takeSent() == [.connect("/chat", payload: nil)])
        bench.accept("/", "")
        #expect(state(bench) == connected && bench.readies == 1)
        #expect(bench.takeSent() == [Bench.sending(1)])
        bench.accept("/chat", "")
        #expect(state(bench, "/chat") == connected)
        // On the next connection, again.
        bench.lose()
        bench.open()
        #expect(bench.takeSent() == [.connect("/chat", payload: nil)])
        #expect(state(bench) != connected)
        bench.accept("/", "")
        #expect(state(bench) == connected)
    }

    @Test func `a client that joins the root later is connected at once`() {
        var bench = bench(joining: "/chat")
        bench.accept("/", "")
        #expect(bench.readies == 0)
        bench.perform(.join(RequestID(1), "/", hasPayload: false))
        #expect(state(bench) == connected && bench.readies == 1)
        bench.emit(2)
        #expect(bench.takeSent() == [.connect("/chat", payload: nil), Bench.sending(2)])
    }

    @Test func `the root is asked for after the app or the server has left it`() throws {
        var bench = bench(joining: "/")
        bench.accept("/", "")
        bench.perform(.disconnect("/"))
        bench.perform(.connect("/"))
        #expect(bench.takeSent() == [.disconnect("/"), .connect("/", payload: nil)])
        bench.accept("/", "")
        #expect(state(bench) == connected)
        try bench.receive("41")
        #expect(state(bench) == .left(byServer: true))
        bench.perform(.connect("/"))
        #expect(bench.takeSent() == [.connect("/", payload: nil)])
        bench.perform(.leave(RequestID(1000), "/"))
        bench.perform(.join(RequestID(1), "/", hasPayload: false))
        #expect(bench.takeSent() == [.connect("/", payload: nil)])
        bench.accept("/", "")
        bench.perform(.leave(RequestID(1), "/"))
        bench.perform(.join(RequestID(2), "/", hasPayload: false))
        #expect(bench.takeSent() == [.disconnect("/"), .connect("/", payload: nil)])
    }

    @Test func `the server may refuse the root, or not answer for it`() throws {
        var bench = bench(joining: "/")
        try bench.receive(#"44"no""#)
        #expect(state(bench) == .refused(SocketIORefusal("no")))
        var silent = self.bench(joining: "/")
        silent.pass(.seconds(20))
        #expect(silent.ends == [.reject(.protocolError, reason: "the server did not answer for the namespace / in time")])
    }

    @Test func `the root has no payload`() {
        var bench = Bench { $0.version = .v4 }
        bench.perform(.join(RequestID(1), "/", hasPayload: true))
        bench.perform(.join(RequestID(2), "/chat", hasPayload: true))
        bench.emit(3, .acknowledged)
        bench.open()
        guard case .refused(let refusal)? = state(bench) else { return #expect(Bool(false), "it is not refused") }
        #expect(refusal.message.contains("no payload"))
        #expect(bench.takeNews() == [Bench.event(3, .failed(.refused(refusal))), Bench.event(2, .payloadNeeded, isLast: false)])
        bench.perform(.authenticate("/chat", payload: Array("{}".utf8)))
        #expect(bench.takeSent() == [.connect("/chat", payload: Array("{}".utf8))])
    }

    @Test func `a client of protocol 5 says what an older server needs`() {
        for name in ["/", "/chat", "/other"] {
            var bench = Bench()
            for (number, name) in ["/", "/chat"].enumerated() { bench.perform(.join(RequestID(UInt64(number)), name, hasPayload: false)) }
            bench.open()
            bench.accept(name, "")
            #expect(bench.ends == [.reject(.protocolError, reason: "the server speaks Socket.IO protocol 4: set SocketIOOptions.version")])
        }
    }

    // MARK: - Pings

    @Test func `the client pings at fixed times, also while the server sends and nothing is read`() throws {
        var bench = bench(joining: "/")
        bench.accept("/", "")
        var pings = 0
        for second in 1...100 {
            bench.pass(.seconds(1))
            if second == 60 { bench.handle(.paused) }
            if second < 60 { try bench.receive(#"42["a"]"#) }
            let sent = bench.takeSent()
            #expect(sent == (second % 25 == 0 ? [.ping] : []))
            pings += sent.count
        }
        #expect(pings == 4 && bench.ends == [])
    }

    @Test func `a server that does not answer is dead after its interval and timeout`() throws {
        var bench = bench(joining: "/")
        bench.accept("/", "")
        bench.pass(.seconds(26))
        try bench.receive("3")
        bench.pass(.seconds(29))
        #expect(bench.takeSent() == [.ping, .ping] && bench.ends == [])
        bench.pass(.seconds(1))
        #expect(bench.ends == [.cut(reason: "the server answered no ping in time")])
        bench.lose()
        #expect(bench.machine.deadline == nil)
    }
}
