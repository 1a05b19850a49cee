import Foundation

extension CredentialProvider {
    /// Bearer tokens of a keeper: the stored one while it is good, and a fresh one when it is over, or the server did not take it.
    public static func bearer(_ keeper: TokenKeeper) -> CredentialProvider {
        .bearer(answering: { request in
            let token = try await keeper.token(insteadOf: request.refused?.secret)
            return Credential(token.secret, expiresIn: token.expires.map { .seconds($0.timeIntervalSinceNow) })
        })
    }
}
