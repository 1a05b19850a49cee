import CodecCore
import Testing

@testable import WAMPCore

@Suite struct ClientStandingTests {
    private let session = JoinedSession(id: 7, realm: "realm1")
    private var standing = ClientStatus<String>()

    /// A short text of the state.
    private func look() -> String {
        switch standing.state {
        case .connecting: "connecting"
        case .joined(let session): "joined \(session.id)"
        case .waiting(let cause): "waiting \(cause ?? "-")"
        case .closed(let ending): "closed \(ending)"
        }
    }
    private mutating func lose(_ cause: String?, isRetrying: Bool = false) -> Bool { standing.lose(because: cause, isRetrying: isRetrying) }

    @Test mutating func `the status is connecting, then joined, then connecting again`() {
        #expect(look() == "connecting")
        standing.open()
        #expect(look() == "connecting")
        standing.join(session)
        #expect(look() == "joined 7" && standing.session == session)
        standing.part()
        #expect(look() == "connecting" && standing.session == nil)
    }

    @Test mutating func `after a loss the status is waiting, with the cause, until the client has joined again`() {
        standing.open()
        standing.join(session)
        #expect(lose("cut"))
        #expect(look() == "waiting cut" && standing.reason == "cut")
        // The plan of the next attempt has the same cause, then that of each failed attempt.
        #expect(!lose("refused", isRetrying: true))
        #expect(look() == "waiting refused")
        standing.open()
        #expect(look() == "connecting" && standing.cause == nil)
    }

    @Test mutating func `a failed first attempt changes the status only to waiting`() {
        #expect(!lose(nil))
        #expect(look() == "connecting")
        #expect(!lose("refused", isRetrying: true))
        #expect(look() == "waiting refused")
    }

    @Test mutating func `joining clears the cause`() {
        standing.open()
        standing.drop(because: "joining took too long", ending: nil)
        standing.join(session)
        #expect(standing.cause == nil)
    }

    @Test mutating func `the reason of the rules replaces that of the closed connection until the next attempt is planned`() {
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

    @Test mutating func `a cause of one connection does not hide the cause of the next loss`() {
        standing.open()
        standing.drop(because: "killed", ending: nil)
        standing.open()
        #expect(lose("cut"))
        #expect(look() == "waiting cut")
    }

    @Test mutating func `the status closes once, with the first cause`() {
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
    ]) func `a temporary refusal of the router is retryable`(uri: String) {
        #expect(ClientFailure.refused(uri: uri, arguments: .none).isRetryable)
    }

    @Test(arguments: [WAMPURI.Error.canceled, WAMPURI.Error.notAuthorized, WAMPURI.Error.invalidArgument, "com.app.error"])
    func `a refusal by a callee or a rule is not retryable`(uri: String) {
        #expect(!ClientFailure.refused(uri: uri, arguments: .none).isRetryable)
    }

    @Test func `a missing session and a timeout are retryable, an impossible request is not`() {
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
    @Test func `the topic of an event is that of its subscription, unless that is a pattern`() {
        #expect(TopicKey("com.a").topic(of: ["topic": "com.b"]) == "com.a")
        #expect(TopicKey("com.", match: .prefix).topic(of: ["topic": "com.b"]) == "com.b")
        #expect(TopicKey("com.", match: .prefix).topic(of: [:]) == "com.")
    }
}
