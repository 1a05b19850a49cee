import CodecCore
import HoldfastServer
import HoldfastTesting
import Testing
import WAMPCore

@testable import HoldfastRouter

/// The driver that runs authenticators for the router.
@Suite(.timeLimit(.minutes(1))) struct AdmissionDeskTests {
    private struct Stubborn: WAMPAuthenticator {
        let isGivenUp: @Sendable () -> Void

        func examine(_ applicant: WAMPApplicant) async throws -> WAMPAdmission {
            for await _ in AsyncStream(Never.self, { _ in }) {}
            isGivenUp()
            throw CancellationError()
        }
    }

    @Test func `a client that disconnects during HELLO leaves no state`() async {
        let (gone, going) = AsyncStream.makeStream(of: Void.self)
        let configuration = WAMPRouterConfiguration.quiet { $0.authenticator = Stubborn { going.yield() } }
        let router = WAMPRouter(configuration, clock: ManualClock(), seed: 1)
        let connection = RouterConnection(count: 1, slot: 0, port: 0)
        let hello = WAMPMessage.hello(realm: "realm1", details: ["roles": ["caller": [:]]])
        router.core.host.submit([.opened(connection, transport: ValueMap()), .received(connection, hello), .closed(connection)])
        // The manual clock stands still, so no deadline ends the client.
        for await _ in gone { break }
        withExtendedLifetime(router) {}
    }
}
