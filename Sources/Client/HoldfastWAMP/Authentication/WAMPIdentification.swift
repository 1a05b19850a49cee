import CodecCore
import WebSocketRuntime
import WAMPSigning

/// A ``WAMPAuthentication`` at work for one connection: its nonces are used once.
///
/// `extra` goes into HELLO, `prove` answers a CHALLENGE, `check` looks at the WELCOME.
final class WAMPIdentification: Sendable {
    /// What HELLO says in `authextra`.
    let extra: ValueMap
    private let authentication: WAMPAuthentication
    private let scram: ScramClient?
    /// The answer by which the router will be known.
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

    /// The answer to a challenge.
    ///
    /// Hashing a password takes its time: this is done on a thread of its own, and ends if the task is cancelled.
    ///
    /// - Throws: A `SigningError`, or what the app's ticket provider throws.
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

    /// Whether the details of a WELCOME prove that the router knows the user; asked only after a challenge of SCRAM.
    func check(details: ValueMap) -> Bool { answer.withLockedValue { $0?.isGenuine(details) } ?? false }
}
