import Foundation
import WebSocketRuntime

extension CredentialProvider {
    /// Bearer tokens of a keeper: the stored one while it is good, and a fresh one when it is over, or the server did not take it.
    public static func bearer(_ keeper: TokenKeeper) -> CredentialProvider {
        // What this socket was given last; another one may have another token.
        let given = LockedValue<String?>(nil)
        return .bearer(answering: { request in
            let token = try await keeper.token(insteadOf: request.isRefused ? given.withLockedValue { $0 } : nil)
            given.withLockedValue { $0 = token.secret }
            return Credential(token.secret, expiresIn: token.expires.map { .seconds($0.timeIntervalSinceNow) })
        })
    }
}
