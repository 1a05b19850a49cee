import CodecCore
import Testing

@testable import WAMPCore

@Suite struct ClientStandingTests {
    private let session = JoinedSession(id: 7, realm: "realm1")
    private var standing = ClientStatus<String>()

    /// The state in a word or two.
    private func look() -> String {
        switch standing.state {
        case .connecting: "connecting"
        case .joined(let session): "joined \(session.id)"
        case .waiting(let cause): "waiting \(cause ?? "-")"
        case .closed(let ending): "closed \(ending)"
        }
    }
    private mutating func lose(_ cause: String?, isRetrying: Bool = false) -> Bool { standing.lose(because: cause, isRetrying: isRetrying) }

    @Test mutating func `it connects, joins and parts`() {
        #expect(look() == "connecting")
        standing.open()
        #expect(look() == "connecting")
        standing.join(session)
        #expect(look() == "joined 7" && standing.session == session)
        standing.part()
        #expect(look() == "connecting" && standing.session == nil)
    }

    @Test mutating func `after a loss it waits, with the cause, until it has joined again`() {
        standing.open()
        standing.join(session)
        #expect(lose("cut"))
        #expect(look() == "waiting cut" && standing.reason == "cut")
        // The plan of the next attempt comes with the same cause, and with that of each attempt that fails.
        #expect(!lose("refused", isRetrying: true))
        #expect(look() == "waiting refused")
        standing.open()
        #expect(look() == "connecting" && standing.cause == nil)
    }

    @Test mutating func `a loss of what was never there says only that another attempt follows`() {
        #expect(!lose(nil))
        #expect(look() == "connecting")
        #expect(!lose("refused", isRetrying: true))
        #expect(look() == "waiting refused")
    }

    @Test mutating func `joining forgets why there was no session`() {
        standing.open()
        standing.drop(because: "joining took too long", ending: nil)
        standing.join(session)
        #expect(standing.cause == nil)
    }

    @Test mutating func `why the rules dropped a connection says more than that it was closed, until the next attempt is planned`() {
        standing.open()
        standing.join(session)
        standing.drop(because: "killed", ending: nil)
        #expect(look() == "waiting killed")
        #expect(lose("closed by this side"))
        #expect(look() == "waiting killed")
        #expect(!lose("refused", isRetrying: true))
        #expect(look() == "waiting killed")
        #expect(!lose("refused again", isRetrying: true))
        #expect(look() == "waiting refused again")
    }

    @Test mutating func `what was dropped on one connection does not hide why the next was lost`() {
        standing.open()
        standing.drop(because: "killed", ending: nil)
        standing.open()
        #expect(lose("cut"))
        #expect(look() == "waiting cut")
    }

    @Test mutating func `it ends once, for the first cause, whatever follows`() {
        standing.open()
        standing.join(session)
        standing.drop(because: nil, ending: "left")
        #expect(look() == "closed left" && standing.session == nil && standing.reason == "left")
        standing.end(because: "socket closed")
        _ = lose("cut", isRetrying: true)
        standing.drop(because: "untrustedServer", ending: "untrustedServer")
        #expect(look() == "closed left")
        standing.end(because: nil)
        #expect(standing.ending == "left")
    }
}

@Suite struct ClientFailureTests {
    @Test(arguments: [
        WAMPURI.Error.noSuchProcedure, WAMPURI.Error.unavailable, WAMPURI.Error.noAvailableCallee, WAMPURI.Error.timeout,
        WAMPURI.Error.networkFailure, WAMPURI.Error.authorizationFailed, WAMPURI.Close.systemShutdown,
    ]) func `what the router refuses for now may be tried again`(uri: String) {
        #expect(ClientFailure.refused(uri: uri, arguments: .none).isRetryable)
    }

    @Test(arguments: [WAMPURI.Error.canceled, WAMPURI.Error.notAuthorized, WAMPURI.Error.invalidArgument, "com.app.error"])
    func `what a callee or a rule refuses will be refused again`(uri: String) {
        #expect(!ClientFailure.refused(uri: uri, arguments: .none).isRetryable)
    }

    @Test func `what had no session or no time may be tried again, what cannot be done may not`() {
        let passing: [ClientFailure] = [
            .connectionLost(wasSent: true), .connectionLost(wasSent: false), .timedOut(wasSent: true), .timedOut(wasSent: false),
            .notJoined, .tooManyWaiting,
        ]
        let lasting: [ClientFailure] = [
            .cancelled(wasSent: true), .cancelled(wasSent: false), .ended, .invalidURI("a b"), .unsupported("x"),
        ]
        #expect(passing.allSatisfy(\.isRetryable) && !lasting.contains(where: \.isRetryable))
    }
}

@Suite struct TopicKeyTests {
    @Test func `an event's topic is that of the subscription, unless that is a pattern`() {
        #expect(TopicKey("com.a").topic(of: ["topic": "com.b"]) == "com.a")
        #expect(TopicKey("com.", match: .prefix).topic(of: ["topic": "com.b"]) == "com.b")
        #expect(TopicKey("com.", match: .prefix).topic(of: [:]) == "com.")
    }
}
