import SessionCore
import Testing
import WebSocketCore

@Suite struct LossTests {
    @Test(arguments: [1001, 1005, 1006, 1011, 1012, 1013, 1014, 3008, 3500] as [UInt16])
    func `a code that may pass is worth a retry`(code: UInt16) {
        #expect(Loss(code: CloseCode(rawValue: code)).isRetryable)
    }

    @Test(arguments: [1000, 1002, 1003, 1007, 1008, 1009, 1010, 1015, 3000, 3003, 4000, 4999] as [UInt16])
    func `a code that says no is final`(code: UInt16) {
        #expect(!Loss(code: CloseCode(rawValue: code)).isRetryable)
    }
}
