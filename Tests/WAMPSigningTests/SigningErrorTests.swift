import Testing
import WAMPSigning

@Suite struct SigningErrorTests {
    @Test func `an error that a retry cannot fix is permanent, others are not`() {
        let lasting: [SigningError] = [.field("salt"), .cost("iterations", 1), .noSuchFunction("x"), .notOffered("ticket"), .key]
        let passing: [SigningError] = [.foreignNonce, .argon2("out of memory"), .cancelled]
        #expect(lasting.allSatisfy(\.isHopeless) && !passing.contains(where: \.isHopeless))
    }
}
