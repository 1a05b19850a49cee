import CodecCore
import WebSocketRuntime
import WAMPSigning

/// The use of a ``WAMPAuthentication`` on one connection; its nonces are used once.
///
/// `extra` goes into HELLO, `prove` answers a CHALLENGE, `check` verifies the WELCOME.
final class WAMPIdentification: Sendable {
    /// The value of `authextra` in HELLO.
    let extra: ValueMap
    private let authentication: WAMPAuthentication
    private let scram: ScramClient?
    /// The answer against which the router's signature is verified.
    private let answer = LockedValue<ScramAnswer?>(nil)

    init(_ authentication: WAMPAuthentication) {
        self.authentication = authentication
        var extra = ValueMap()
        var scram: ScramClient?
        for way in authentication.ways {
            switch way {
            case .cryptosign(let key):
                extra["pubkey"] = .text(key.publicKey)
                extra["channel_binding"] = .null
            case .scram(let password, let argon2):
                let client = ScramClient(user: authentication.authID ?? "", password: password, argon2: argon2, costs: authentication.costs)
                for entry in client.extra { extra[entry.key] = entry.value }
                scram = client
            case .anonymous, .ticket, .cra: break
            }
        }
        (self.extra, self.scram) = (extra, scram)
    }

    /// Returns the answer to a challenge.
    ///
    /// Hashing a password takes time, so this runs concurrently, and ends if the task is cancelled.
    ///
    /// - Throws: A `SigningError`, or the error of the app's ticket provider.
    @concurrent func prove(method: String, extra: ValueMap) async throws -> (signature: String, extra: ValueMap) {
        for way in authentication.ways {
            switch (way, method) {
            case (.ticket(let provider), SigningMethod.ticket): return (try await provider(), [:])
            case (.cra(let secret), SigningMethod.cra):
                return (try ChallengeResponse.answer(extra, secret: secret, costs: authentication.costs), [:])
            case (.cryptosign(let key), SigningMethod.cryptosign): return (try key.answer(extra), [:])
            case (.scram, SigningMethod.scram), (.scram, SigningMethod.standardScram):
                guard let scram, let dialect = ScramDialect(rawValue: method) else { break }
                let answer = try scram.answer(extra, dialect: dialect)
                self.answer.withLockedValue { $0 = answer }
                return (answer.signature, answer.extra)
            default: break
            }
        }
        throw SigningError.notOffered(method)
    }

    /// Whether the details of a WELCOME prove that the router knows the user; called only after a SCRAM challenge.
    func check(details: ValueMap) -> Bool { answer.withLockedValue { $0?.isGenuine(details) } ?? false }
}
