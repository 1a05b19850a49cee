import Holdfast

@testable import HoldfastDoctor

/// Observations of a server that is well; each test spoils one thing.
enum DoctorCase {
    static let address = Resolution.Address(address: "192.0.2.1", family: "IPv4", connectMs: 20)

    static var well: Observations {
        var seen = Observations(url: "wss://api.example.com/")
        seen.resolution = Resolution(host: "api.example.com", lookupMs: 12, addresses: [address])
        seen.security = SecurityView(version: "1.3", chain: [certificate()], choosesHTTP2: false, handshakeMs: 30)
        var upgrade = UpgradeView(remote: "192.0.2.1:443", connectMs: 20, tlsMs: 30, answerMs: 21)
        upgrade.take(ResponseHead(status: 101, headers: ["Upgrade": "websocket"]))
        seen.upgrade = upgrade
        var graphQL = GraphQLView(subprotocol: "graphql-transport-ws")
        (graphQL.acknowledgedMs, graphQL.pongMs, graphQL.answersQuery) = (2, 1, true)
        graphQL.syntaxError = GraphQLView.Refusal(text: "Syntax Error")
        seen.graphQL = [graphQL]
        seen.engineIO = EngineIOView(pingIntervalMs: 25_000, pingTimeoutMs: 20_000, maxPayload: 1_000_000, connectedMs: 3, recovers: true)
        seen.pings = PingView(sent: 10, roundTrips: (1...10).map { Double($0) })
        for trial in Trial.allCases { seen[trial] = CloseReaction(kind: .echoed, ms: 1) }
        seen[.invalidUTF8] = CloseReaction(kind: .closed, closeCode: 1007, ms: 1)
        seen[.unmasked] = CloseReaction(kind: .closed, closeCode: 1002, ms: 1)
        seen.compression = CompressionView(
            isAgreed: true, serverNoContextTakeover: false, clientNoContextTakeover: true, serverMaxWindowBits: 15, clientMaxWindowBits: 12,
            sampleBytes: 10_000, sentBytes: 800, reaction: CloseReaction(kind: .echoed, ms: 1), echoBytes: 790, isEchoCompressed: true)
        var limit = LimitView(cap: 4 << 20)
        (limit.largestTaken, limit.smallestRefused) = (1 << 20, 1 << 20 + 1)
        limit.refusal = CloseReaction(kind: .closed, closeCode: 1009, ms: 1)
        seen.limit = limit
        seen.close = CloseView(isAnswered: true, code: 1000, answerMs: 21, endsTCP: true, endMs: 22)
        seen.unknownPath = RequestView(isAccepted: false, status: 404)
        seen.wrongOrigin = RequestView(isAccepted: false, status: 403)
        seen.idle = IdleView(watchedMs: 60_000)
        return seen
    }

    /// Those observations, after a change.
    static func but(_ change: (inout Observations) -> Void) -> Observations {
        var seen = well
        change(&seen)
        return seen
    }

    static func certificate(daysLeft: Int = 60, weaknesses: [String] = []) -> SecurityView.Certificate {
        SecurityView.Certificate(
            subject: "api.example.com", issuer: "Example Authority", names: ["api.example.com"], notBefore: "2026-01-01",
            notAfter: "2027-01-01", daysLeft: daysLeft, key: "P-256", signature: "SHA-256 with ECDSA", publicKeyPin: "sha256/AAAA",
            certificatePin: "cert-sha256/AAAA", isSelfIssued: false, weaknesses: weaknesses)
    }

    /// The finding with this name, if there is one.
    static func finding(_ id: String, _ change: (inout Observations) -> Void) -> Finding? {
        Diagnosis.findings(of: but(change)).first { $0.id == id }
    }
}
