import Foundation
import Holdfast
import WebSocketRuntime

/// What a client shows to be let in: `CLIENT.EXPIRY`, the latter in milliseconds since 1970.
struct Token {
    let client: String
    let expiry: Int

    init(client: String, life: Duration) { (self.client, expiry) = (client, Self.now + Int(life / .milliseconds(1))) }

    init(_ authorization: String) {
        let parts = authorization.replacing("Bearer ", with: "").split(separator: ".")
        (client, expiry) = (parts.first.map(String.init) ?? "", parts.count == 2 ? Int(parts[1]) ?? 0 : 0)
    }

    var text: String { "\(client).\(expiry)" }
    /// Milliseconds until it expires.
    var left: Int { expiry - Self.now }

    private static var now: Int { Int(Date.now.timeIntervalSince1970 * 1000) }
}

/// Gives one client its tokens: the same one over and over, for it does not watch the time.
///
/// One that was given out when it had expired is replaced on the next request, for then the server has said so.
/// Only a session and its tasks hold it, so its end is theirs.
final class TokenOffice: Sendable {
    /// What is left of a token's life is enough for a handshake, or the token is replaced: only what is long expired is shown.
    private static let margin = 1500
    private static let living = LockedValue(0)
    /// How many sessions, or parts of one, are left.
    static var livingCount: Int { living.withLockedValue(\.self) }

    private let life: Duration
    private let state: LockedValue<(token: Token, staleCount: Int, isReplaced: Bool)>

    init(client: String, life: Duration) {
        self.life = life
        state = LockedValue((Token(client: client, life: life), 0, false))
        Self.living.withLockedValue { $0 += 1 }
    }

    deinit { Self.living.withLockedValue { $0 -= 1 } }

    /// How often a token was given out that had expired.
    var staleCount: Int { state.withLockedValue(\.staleCount) }
    /// Milliseconds until the present token expires.
    var left: Int { state.withLockedValue { $0.token.left } }

    func next() -> Credential {
        state.withLockedValue { state in
            if state.isReplaced || (1...Self.margin).contains(state.token.left) {
                state.token = Token(client: state.token.client, life: life)
            }
            state.isReplaced = state.token.left <= 0
            if state.isReplaced { state.staleCount += 1 }
            return Credential(state.token.text)
        }
    }
}
