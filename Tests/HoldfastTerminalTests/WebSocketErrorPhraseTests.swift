import Holdfast
import Testing

@testable import HoldfastTerminal

@Suite struct WebSocketErrorPhraseTests {
    @Test func `a refusal shows the telling headers and the start of the body, harmless`() {
        var failure = TransportError(.refused, "the server answered 401\u{1B}[2J")
        failure.response = ResponseHead(status: 401, headers: ["Server": "x", "WWW-Authenticate": "Bearer\u{7}"])
        failure.body = Array("first\r\nsecond\u{9B}\n".utf8) + [0xFF] + Array(repeating: UInt8(ascii: "x"), count: 4000)
        let lines = WebSocketError(failure).lines
        #expect(lines[0] == #"the server answered 401\u{1B}[2J"#)
        #expect(Array(lines[1...3]) == [#"WWW-Authenticate: Bearer\u{07}"#, "first", #"second\u{9B}"#])
        #expect(lines.count == 5)
        #expect(lines[4].count < 300)
    }

    @Test(arguments: [
        (TransportError.Code.invalidURL, Outcome.usage), (.invalidConfiguration, .usage), (.unresolved, .unreachable),
        (.unreachable, .unreachable), (.timedOut, .unreachable), (.tls, .tls), (.refused, .refused), (.invalidHandshake, .refused),
        (.protocolViolation, .violation), (.closed, .lost), (.lost, .lost), (.unresponsive, .lost), (.stalled, .lost),
        (.cancelled, .interrupted),
    ])
    func `every failure has its exit status`(code: TransportError.Code, outcome: Outcome) {
        #expect(Outcome(WebSocketError(TransportError(code, "x"))) == outcome)
    }

    @Test func `an error code of the peer has its own exit status`() {
        var failure = TransportError(.closed, "x")
        failure.record = CloseRecord(
            sent: CloseFrame(.internalError), received: CloseFrame(.internalError), closedFirst: .remote, isClean: true)
        #expect(Outcome(WebSocketError(failure)) == .closedWithError)
        #expect(WebSocketError(failure).lines.last == CloseCode.internalError.meaning)
    }
}
