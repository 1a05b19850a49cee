import Testing
import WAMPSigning

@Suite struct SigningErrorTests {
    @Test func `what the app or the router would have to change is hopeless, what may be another time is not`() {
        let lasting: [SigningError] = [.field("salt"), .cost("iterations", 1), .noSuchFunction("x"), .notOffered("ticket"), .key]
        let passing: [SigningError] = [.foreignNonce, .argon2("out of memory"), .cancelled]
        #expect(lasting.allSatisfy(\.isHopeless) && !passing.contains(where: \.isHopeless))
    }
}
