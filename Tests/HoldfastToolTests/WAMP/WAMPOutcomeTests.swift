import Holdfast
import HoldfastTerminal
import Testing
import WAMPCore

@testable import HoldfastTool
@testable import HoldfastWAMP

@Suite struct WAMPOutcomeTests {
    @Test(arguments: [
        (WAMPError.Code.refused, Outcome.answeredWithError), (.dismissed, .refused), (.untrustedServer, .refused), (.unsupported, .refused),
        (.notJoined, .unreachable), (.connectionLost, .lost), (.cancelled, .interrupted), (.invalidURI, .usage), (.unencodable, .usage),
        (.closed, .failed),
    ])
    func `a failure counts by what went wrong`(code: WAMPError.Code, outcome: Outcome) {
        #expect(Outcome(WAMPError(code)) == outcome)
    }

    @Test func `what was sent and not answered is told from what could not be sent`() {
        #expect(Outcome(WAMPError(.timedOut, wasSent: true)) == .unanswered)
        #expect(Outcome(WAMPError(.timedOut, wasSent: false)) == .unreachable)
    }

    @Test func `a connection counts by its own error`() {
        let error = WebSocketError(TransportError(.unknownAuthority, "nobody vouches for it"))
        #expect(Outcome(WAMPError(.connection, underlying: error)) == .tls)
    }

    @Test func `an error shows what the peer said, and nothing of that drives the terminal`() {
        let error = WAMPError(
            .refused, uri: "com.example.error.\u{1B}", arguments: WAMPArguments([1, "two"], keywords: ["status": 3]), request: "CALL com.a")
        #expect(error.lines.dropFirst() == ["[1,\"two\"]", "{\"status\":3}"])
        #expect(error.lines.allSatisfy { !$0.unicodeScalars.contains("\u{1B}") })
        #expect(WAMPError(.refused, uri: "com.a", arguments: WAMPArguments(["in words"])).lines.count == 1)
    }
}
