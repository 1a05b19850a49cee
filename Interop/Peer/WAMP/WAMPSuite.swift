import CodecCore
import Foundation
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import WAMPCore

/// The checks of our client with a router and `partner.py`.
///
/// Each prints `ok NAME` or `not ok NAME: why`.
struct WAMPSuite: Sendable {
    /// The router whose behaviour is expected.
    enum Router: String { case holdfast, crossbar, xconn }
    typealias Check = @Sendable (WAMPWorld) async throws -> Void

    let url: String
    let realm: String
    let serialization: WAMPSerialization
    let router: Router

    func run() async throws -> Bool {
        var checks = session + calls + callee + topics
        if router != .xconn { checks += advancedCalls + advancedCallee + advancedTopics + meta }
        switch router {
        case .holdfast: checks += wishedDisclosure + losses
        case .crossbar: checks += grantedDisclosure + permissions + revocation + losses
        // Xconn never forgets a lost session: its procedures stay registered, and a publisher to it is disconnected.
        case .xconn: checks += sloppyLosses
        }
        return try await run(checks)
    }

    func runHistory() async throws -> Bool { try await run([("history: what was missed comes from the router", Self.history)]) }

    private func run(_ checks: [(String, Check)]) async throws -> Bool {
        let world = try await WAMPWorld(suite: self)
        var allPassed = true
        for (name, check) in checks {
            do {
                try await Suite.withDeadline(.seconds(15)) { try await check(world) }
                print("ok \(serialization.rawValue): \(name)")
            } catch {
                print("not ok \(serialization.rawValue): \(name): \(error)")
                allPassed = false
            }
        }
        await world.end()
        return allPassed
    }

    private var session: [(String, Check)] {
        [("a session joins", { try Suite.expect($0.one.state.session?.realm, $0.suite.realm) })]
    }
}

/// Two clients of ours at one router, each behind a link that can be cut.
struct WAMPWorld: Sendable {
    let suite: WAMPSuite
    let link: FaultyLink
    let one: WAMPClient
    let two: WAMPClient

    init(suite: WAMPSuite) async throws {
        guard var parts = URLComponents(string: suite.url), let port = parts.port else {
            throw Suite.Failure(description: "no URL with a port: \(suite.url)")
        }
        self.suite = suite
        link = try await FaultyLink.start(to: port)
        parts.port = link.port
        one = Self.client(parts.string ?? "", suite)
        two = Self.client(suite.url, suite)
        try await one.joined(within: .seconds(10))
        try await two.joined(within: .seconds(10))
    }

    private static func client(_ url: String, _ suite: WAMPSuite) -> WAMPClient {
        WAMPClient(url, realm: suite.realm) { socket in
            WAMPOptions.prepare(&socket, [suite.serialization])
            socket.reconnect.backoff = Backoff(base: .milliseconds(100), cap: .milliseconds(500))
            socket.reconnect.spacing = .milliseconds(100)
        }
    }

    func end() async {
        await one.close()
        await two.close()
    }

    /// The partner's answer.
    @discardableResult
    func ask(_ name: String, _ list: Value..., keywords: ValueMap = [:]) async throws -> Value {
        try await two.call("com.partner.\(name)", list, keywords: keywords).list.first ?? .null
    }

    /// The result of the partner's call.
    func relay(_ uri: String, _ list: [Value] = [], keywords: ValueMap = [:]) async throws -> Value {
        var all = keywords
        all["args"] = .array(list)
        return try await ask("relay", .text(uri), keywords: all)
    }

    /// The partner's own session.
    func partner() async throws -> WAMPID {
        guard let id = try await ask("me").int else { throw Suite.Failure(description: "the partner has no session") }
        return WAMPID(id)
    }

    func session(_ client: WAMPClient) throws -> Value {
        guard let session = client.state.session else { throw Suite.Failure(description: "not joined") }
        return Value(session.id)
    }
}

extension Events<WAMPArguments> {
    /// The positional values of the next events.
    func take(_ count: Int) async throws -> [Value] {
        var events: [Value] = []
        for try await event in self {
            events.append(.array(try event.content.list))
            if events.count == count { return events }
        }
        throw Suite.Failure(description: "the stream ended after \(events.count) events")
    }
}

extension Suite {
    /// Expects an error of the client.
    static func refusal(_ code: WAMPError.Code = .refused, uri: String? = nil, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as WAMPError {
            try expect(error.code, code)
            if let uri { try expect(error.uri, uri) }
            return
        }
        throw Failure(description: "no error")
    }
}
