import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// The quirks of other routers that no other suite covers.
@Suite struct RouterQuirksTests {
    private func stage(_ change: (inout RouterPolicy.Quirks) -> Void) -> RouterStage {
        var quirks = RouterPolicy.Quirks()
        change(&quirks)
        return RouterStage(RouterPolicy(quirks: quirks))
    }

    /// A caller, and the details of an invocation of a callee with this name.
    private func calling(_ stage: inout RouterStage) throws -> (caller: RouterConnection, callee: RouterConnection, session: WAMPID) {
        let (caller, callee) = (stage.join(), stage.join(as: "ann", role: "backend"))
        stage.send(.register(request: 1, options: [:], procedure: "a"), from: callee)
        stage.send(.call(request: 1, options: ["receive_progress": true], procedure: "a", .none), from: caller)
        #expect(stage.received(callee).map(\.type) == [65, 68])
        return (caller, callee, try stage.session(of: callee))
    }

    @Test("a call of an invalid URI may close the connection with 1011 and no message")
    func invalidURIs() throws {
        var stage = stage { $0.closesOnInvalidURIs = true }
        let (client, other) = (stage.join(), stage.join())
        stage.send(.call(request: 1, options: [:], procedure: "a..b", .none), from: client)
        #expect(stage.closed == [client: .failure] && stage.received(client).isEmpty && stage.router.sessionCount == 1)
        // A valid URI without a registration gets an error.
        stage.send(.call(request: 1, options: [:], procedure: "a.b", .none), from: other)
        #expect(stage.received(other).map(\.reason) == [WAMPURI.Error.noSuchProcedure])
    }

    @Test("a violation may close the connection without ABORT, before and after joining")
    func withoutAbort() {
        var stage = stage { $0.closesWithoutAbort = true }
        let (stranger, client) = (stage.open(), stage.join())
        for connection in [stranger, client] {
            stage.send(.subscribe(request: 7, options: [:], topic: "a"), from: connection)
            #expect(stage.closed[connection] == .violation && stage.received(connection).isEmpty)
        }
    }

    @Test("a stopping router may close without a message")
    func withoutGoodbye() throws {
        var stage = stage { $0.goesWithoutGoodbye = true }
        let (stranger, client, killed) = (stage.open(), stage.join(), stage.join())
        stage.give(.kill(session: try stage.session(of: killed), reason: WAMPURI.Close.killed, message: nil))
        _ = stage.received(killed)
        stage.give(.stop)
        #expect(stage.closed == [stranger: .cut, client: .cut, killed: .cut])
        #expect([stranger, client, killed].allSatisfy { stage.received($0).isEmpty })
        #expect(stage.news.last == .stopped && stage.router.isEmpty)
    }

    @Test("results, progressive results and errors may disclose their callee")
    func callees() throws {
        var stage = stage { $0.namesCallees = true }
        let (caller, callee, session) = try calling(&stage)
        stage.send(.call(request: 2, options: [:], procedure: "a", .none), from: caller)
        let names: ValueMap = ["callee": Value(session), "callee_authid": "ann", "callee_authrole": "backend"]
        var parts = names
        parts["progress"] = true
        stage.send(.yield(request: 1, options: ["progress": true], .none), from: callee)
        stage.send(.yield(request: 1, options: [:], .none), from: callee)
        stage.send(.error(.invocation, request: 2, details: [:], uri: "a.b", .none), from: callee)
        #expect(
            stage.received(caller) == [
                .result(request: 1, details: parts, .none), .result(request: 1, details: names, .none),
                .error(.call, request: 2, details: names, uri: "a.b", .none),
            ])
    }

    @Test("a client without a known authentication method may get another error; other refusals stay")
    func methods() {
        var stage = stage { $0.refusesMethodsAs = "com.app.no" }
        let reasons = [WAMPURI.Error.noMatchingAuthMethod, WAMPURI.Error.authenticationDenied].map { reason in
            let client = stage.open()
            stage.send(.hello(realm: "realm1", details: ["roles": RouterStage.roles]), from: client)
            stage.give(.examined(client, .refused(reason: reason, message: "")))
            return stage.received(client).last?.reason
        }
        #expect(reasons == ["com.app.no", WAMPURI.Error.authenticationDenied])
    }

    @Test("an undecodable message may be ignored, and an option of the wrong type may count as missing")
    func mistakes() throws {
        var stage = stage { $0.ignoresMistakes = true }
        let (caller, callee, _) = try calling(&stage)
        stage.give(.undecodable(caller, WAMPFormatError(.noMessage)))
        let flags: [Value] = ["acknowledge", "exclude_me", "retain", "disclose_me"]
        let lists: [Value] = ["exclude", "eligible", "exclude_authid", "eligible_authid", "exclude_authrole", "eligible_authrole"]
        let wrong = ValueMap((flags + lists).map { ValueMap.Entry(key: $0, value: "x") })
        stage.send(.publish(request: 2, options: wrong, topic: "a", .none), from: caller)
        stage.send(
            .publish(request: 3, options: ["acknowledge": true, "eligible": [0], "exclude_authid": [1]], topic: "a", .none), from: caller)
        stage.send(.subscribe(request: 4, options: ["match": 1, "get_retained": "yes"], topic: "a"), from: caller)
        let registering: ValueMap = ["match": 1, "invoke": 1, "concurrency": "x", "disclose_caller": 1, "forward_timeout": 1]
        stage.send(.register(request: 5, options: registering, procedure: "b"), from: caller)
        let calling: ValueMap = ["timeout": "x", "receive_progress": 1, "progress": 1, "disclose_me": 1]
        stage.send(.call(request: 6, options: calling, procedure: "b", .none), from: caller)
        stage.send(.yield(request: 1, options: ["progress": 7], .none), from: caller)
        stage.send(.cancel(request: 1, options: ["mode": 1]), from: caller)
        #expect(stage.received(caller).map(\.type) == [17, 33, 65, 68, 50, 8])
        #expect(stage.received(callee).map(\.type) == [69] && stage.closed.isEmpty)
    }

    @Test("the presets match the observed behaviour of the two routers")
    func presets() {
        let (crossbar, nexus) = (RouterPolicy.Quirks.crossbar, RouterPolicy.Quirks.nexus)
        #expect(crossbar.closesOnInvalidURIs && crossbar.closesWithoutAbort && crossbar.goesWithoutGoodbye && crossbar.namesCallees)
        #expect(crossbar.refusesMethodsAs == "wamp.error.no_auth_method" && !crossbar.ignoresMistakes && !crossbar.writesPlainBase64)
        #expect(nexus.ignoresMistakes && nexus.writesPlainBase64 && nexus.refusesMethodsAs == WAMPURI.Error.authenticationFailed)
        #expect(!nexus.closesOnInvalidURIs && !nexus.closesWithoutAbort && !nexus.goesWithoutGoodbye && !nexus.namesCallees)
    }
}
