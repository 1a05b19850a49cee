import Foundation
import Holdfast
import WebSocketRuntime

/// A client's token: `CLIENT.EXPIRY`, with the expiry in milliseconds since 1970.
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

/// Gives one client its tokens.
///
/// It returns the same token repeatedly, because it does not check the time.
///
/// A token that was expired when it was given out is replaced at the next request, because the server has refused it.
///
/// Only a session and its tasks hold this object, so it ends with them.
final class TokenOffice: Sendable {
    /// A token is replaced if its remaining time is too short for a handshake.
    ///
    /// So only tokens that expired long ago are shown.
    private static let margin = 1500
    private static let living = LockedValue(0)
    /// The number of remaining sessions or parts of them.
    static var livingCount: Int { living.withLockedValue(\.self) }

    private let life: Duration
    private let state: LockedValue<(token: Token, staleCount: Int, isReplaced: Bool)>

    init(client: String, life: Duration) {
        self.life = life
        state = LockedValue((Token(client: client, life: life), 0, false))
        Self.living.withLockedValue { $0 += 1 }
    }

    deinit { Self.living.withLockedValue { $0 -= 1 } }

    /// How often an expired token was given out.
    var staleCount: Int { state.withLockedValue(\.staleCount) }
    /// Milliseconds until the current token expires.
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
