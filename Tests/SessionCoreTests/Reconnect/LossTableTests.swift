import SessionCore
import Testing
import WebSocketCore

@Suite struct LossTableTests {
    private static let standard = LossTable.standard

    @Test(arguments: [0, 1001, 1004, 1005, 1006, 1009, 1011, 1012, 1013, 1014, 1016, 2999, 3001, 3008, 3500, 3999, 5000] as [UInt16])
    func `close codes of temporary failures are retried`(code: UInt16) {
        #expect(Self.standard[.closed(CloseCode(rawValue: code))] == .retry)
    }

    @Test(arguments: [1000, 1002, 1003, 1007, 1010, 1015, 3003, 4000, 4999] as [UInt16])
    func `close codes of permanent failures are final`(code: UInt16) {
        #expect(Self.standard[.closed(CloseCode(rawValue: code))] == .final)
    }

    @Test(arguments: [1008, 3000] as [UInt16])
    func `close codes of refused credentials refresh the credentials`(code: UInt16) {
        #expect(Self.standard[.closed(CloseCode(rawValue: code))] == .refreshCredentials)
    }

    @Test(arguments: [1000, 1001, 1006, 1008, 1012, 4000] as [UInt16])
    func `a close from this side is final for every code`(code: UInt16) {
        #expect(Self.standard[.closed(CloseCode(rawValue: code), by: .local)] == .final)
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 511, 599])
    func `statuses of temporary failures are retried`(status: Int) {
        #expect(Self.standard[.refused(status: status)] == .retry)
    }

    @Test(arguments: [-1, 0, 200, 204, 301, 302, 307, 400, 402, 403, 404, 407, 410, 418, 426, 431, 451, 499, 501, 505, 600, .max])
    func `other statuses are final`(status: Int) {
        #expect(Self.standard[.refused(status: status)] == .final)
    }

    @Test func `401 refreshes the credentials`() {
        #expect(Self.standard[.refused(status: 401)] == .refreshCredentials)
    }

    @Test(
        arguments: [
            .lost, .unresponsive, .stalled, .messageTooBig, .timedOut, .unresolved, .unreachable, .credentials(isRetryable: true),
        ] as [LossCause])
    func `network failures and an oversized message are retried`(cause: LossCause) {
        #expect(Self.standard[cause] == .retry)
    }

    @Test(arguments: [.tls, .invalidHandshake, .protocolViolation, .invalidConfiguration, .credentials(isRetryable: false)] as [LossCause])
    func `TLS, handshake, protocol and configuration failures are final`(cause: LossCause) {
        #expect(Self.standard[cause] == .final)
    }

    @Test func `the app can change each status, code and kind alone`() {
        var losses = LossTable.standard
        losses[.refused(status: 404)] = .retry
        losses[.closed(.normal)] = .retry
        losses[.tls] = .refreshCredentials
        losses[.unresolved] = .final
        #expect(losses[.refused(status: 404)] == .retry && losses[.refused(status: 403)] == .final)
        #expect(losses[.closed(.normal)] == .retry && losses[.closed(.normal, by: .local)] == .final)
        #expect(losses[.tls] == .refreshCredentials && losses[.invalidHandshake] == .final)
        #expect(losses[.unresolved] == .final && losses[.unreachable] == .retry)
    }

    @Test func `a restored table equals the standard table`() {
        var losses = LossTable.standard
        losses[.tls] = .retry
        #expect(losses != .standard)
        losses[.tls] = .final
        #expect(losses == .standard)
    }
}
