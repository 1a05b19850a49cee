import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// WAMP, "Session Close", and other ends of sessions.
@Suite struct RouterLeavingTests {
    private var stage = RouterStage()
    private let bye = WAMPMessage.goodbye(details: [:], reason: WAMPURI.Close.closeRealm, .none)

    @Test("GOODBYE is answered, then the connection closes") mutating func goodbye() throws {
        let client = stage.join()
        let id = try stage.session(of: client)
        stage.send(bye, from: client)
        #expect(stage.received(client) == [.goodbye(details: [:], reason: WAMPURI.Close.goodbyeAndOut, .none)])
        #expect(stage.closed[client] == .goodbye && stage.news.last == .left(id, realm: "realm1", reason: WAMPURI.Close.closeRealm))
        #expect(stage.router.isEmpty)
    }

    @Test("with the quirk of Crossbar a connection serves several sessions in turn") mutating func reuse() throws {
        stage = RouterStage(RouterPolicy(quirks: .crossbar))
        let client = stage.join()
        let first = try stage.session(of: client)
        for _ in 0..<3 {
            stage.send(bye, from: client)
            #expect(stage.received(client) == [.goodbye(details: [:], reason: WAMPURI.Close.normal, .none)] && stage.closed.isEmpty)
            stage.send(.hello(realm: "realm1", details: ["roles": RouterStage.roles]), from: client)
            stage.give(.examined(client, .accepted(RouterPrincipal())))
            #expect(try stage.session(of: client) != first && stage.received(client).map(\.type) == [2])
        }
        stage.send(bye, from: client)
        stage.pass(.seconds(10))
        #expect(stage.closed[client] == .goodbye && stage.router.isEmpty)
    }

    @Test("a killed session gets the reason, and its later messages are ignored") mutating func kill() throws {
        let (client, other) = (stage.join(), stage.join())
        let topic = try stage.subscribe(other, "a")
        let id = try stage.session(of: client)
        stage.give(.kill(session: id, reason: "com.app.enough", message: "go"))
        #expect(stage.received(client) == [.goodbye(details: ["message": "go"], reason: "com.app.enough", .none)])
        stage.publish(client, "a")
        stage.send(.welcome(session: 1, details: [:]), from: client)
        #expect(try stage.events(other).isEmpty && stage.received(client).isEmpty && stage.closed.isEmpty && topic > 0)
        stage.send(.goodbye(details: [:], reason: WAMPURI.Close.goodbyeAndOut, .none), from: client)
        #expect(stage.received(client).isEmpty && stage.closed[client] == .goodbye)
        // A session is killed only once.
        stage.give(.kill(session: id, reason: "com.app.enough", message: nil))
        #expect(stage.received(client).isEmpty)
    }

    @Test("a client that does not answer GOODBYE is dropped") mutating func goodbyePatience() throws {
        let client = stage.join()
        stage.give(.kill(session: try stage.session(of: client), reason: WAMPURI.Close.killed, message: nil))
        stage.pass(.milliseconds(1999))
        #expect(stage.closed.isEmpty)
        stage.pass(.milliseconds(1))
        #expect(stage.closed[client] == .goodbye && stage.router.isEmpty)
    }

    @Test("ABORT ends the session and the connection without an answer") mutating func abort() {
        let client = stage.join()
        stage.send(.abort(details: [:], reason: "com.app.crash", .none), from: client)
        #expect(stage.received(client).isEmpty && stage.closed[client] == .goodbye && stage.router.isEmpty)
    }

    @Test("a lost connection leaves no state behind") mutating func loss() throws {
        let (client, other) = (stage.join(), stage.join())
        let id = try stage.session(of: client)
        let _ = try (stage.subscribe(client, "a"), stage.subscribe(client, "b.", ["match": "prefix"]), stage.subscribe(other, "a"))
        stage.give(.closed(client), .closed(client))
        #expect(stage.news.last == .left(id, realm: "realm1", reason: nil))
        stage.publish(other, "a", ["exclude_me": false])
        #expect(stage.received(client).isEmpty)
        #expect(try stage.events(other).count == 1)
        stage.give(.closed(other))
        #expect(stage.router.isEmpty)
    }

    @Test("a client with a full outbound queue is cut off") mutating func overrun() throws {
        let client = stage.join()
        let id = try stage.session(of: client)
        stage.give(.overrun(client), .overrun(client))
        #expect(stage.closed[client] == .overrun && stage.received(client).isEmpty && stage.router.isEmpty)
        #expect(stage.news.contains(.overrun(id, realm: "realm1")))
    }

    @Test("a stopping router says goodbye to all, and a client that answers is closed at once") mutating func stop() throws {
        let (stranger, polite, rude) = (stage.open(), stage.join(), stage.join())
        let topics = try [polite, rude].map { try stage.subscribe($0, "wamp.session.on_leave") }
        stage.give(.stop, .stop)
        for client in [polite, rude] { #expect(stage.received(client).map(\.reason) == [WAMPURI.Close.systemShutdown]) }
        #expect(Set(topics).count == 1 && stage.closed == [stranger: .stopping] && !stage.news.contains(.stopped))
        stage.send(.goodbye(details: [:], reason: WAMPURI.Close.goodbyeAndOut, .none), from: polite)
        #expect(stage.closed[polite] == .stopping && stage.closed[rude] == nil)
        let late = stage.open()
        #expect(stage.closed[late] == .stopping)
        stage.pass(.seconds(2))
        #expect(stage.closed[rude] == .stopping && stage.news.last == .stopped && stage.news.count { $0 == .stopped } == 1)
        #expect(stage.router.isEmpty)
    }

    @Test("a router without clients stops at once") mutating func stopAtOnce() {
        stage.give(.stop)
        #expect(stage.news == [.stopped])
    }
}
