import Testing
import WebSocketCore

@Suite struct CloseCodeTests {
    /// The codes that RFC 6455 §7.4 and the IANA registry allow in a close frame.
    static let allowed = Set<UInt16>(1000...1003).union(1007...1014).union(3000...4999)

    @Test func `assigned codes and codes of libraries and applications may be received`() {
        for value in UInt16.min...UInt16.max where CloseCode(rawValue: value).mayBeReceived != Self.allowed.contains(value) {
            Issue.record("\(value)")
        }
    }

    @Test func `a side may send every code that may be received, except codes reserved for the other side`() {
        for value in UInt16.min...UInt16.max {
            let code = CloseCode(rawValue: value)
            let byClient = Self.allowed.contains(value) && !(1012...1014).contains(value)
            let byServer = Self.allowed.contains(value) && value != 1010
            if code.maySend(as: .client) != byClient || code.maySend(as: .server) != byServer { Issue.record("\(value)") }
        }
    }

    @Test func `the named codes have the numbers of the IANA registry`() {
        let codes: [CloseCode] = [
            .normal, .goingAway, .protocolError, .unsupportedData, .noStatus, .abnormal, .invalidPayload, .policyViolation,
            .messageTooBig, .mandatoryExtension, .internalError, .serviceRestart, .tryAgainLater, .badGateway, .tlsHandshake,
        ]
        #expect(codes.map(\.rawValue) == Array(1000...1003) + Array(1005...1015))
        #expect(Set(codes.map(\.name)).count == codes.count)
    }

    @Test func `every code has a name and a meaning`() {
        for value in UInt16.min...UInt16.max {
            let code = CloseCode(rawValue: value)
            if code.name.isEmpty || !code.meaning.hasSuffix(".") { Issue.record("\(value)") }
        }
        #expect(CloseCode.normal.description == "1000 (normal closure)")
        #expect(CloseCode(rawValue: 4001).name == "application code")
        #expect(CloseCode(rawValue: 3001).name == "registered code")
        #expect(CloseCode(rawValue: 2999).name == "unassigned")
        #expect(CloseCode(rawValue: 999).name == "invalid code" && CloseCode(rawValue: 5000).name == "invalid code")
    }
}
