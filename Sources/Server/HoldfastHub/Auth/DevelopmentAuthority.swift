import RoomCore

/// Takes `dev:NAME` of clients on this machine, and leaves all other tokens to another authority.
struct DevelopmentAuthority: HubAuthority {
    private static let prefix = "dev:"
    /// Who looks at other tokens; nil: nobody, and they are refused.
    let other: (any HubAuthority)?
    /// Whether development is on; the hub has seen to it that it listens on this machine only.
    let isOn: Bool

    func identify(_ token: String?, isLocal: Bool) async throws(TokenRefusal) -> Identity {
        guard let token, token.hasPrefix(Self.prefix) else {
            guard let other else {
                throw token == nil
                    ? TokenRefusal(.missing, "there is no token") : TokenRefusal(.algorithm, "this hub has no keys for tokens")
            }
            return try await other.identify(token, isLocal: isLocal)
        }
        guard isOn, isLocal else { throw TokenRefusal(.development, "tokens for development are not taken here") }
        guard let user = UserName(String(token.dropFirst(Self.prefix.count))) else {
            throw TokenRefusal(.malformed, "the name after dev: has 1 to 128 bytes")
        }
        if let hidden = user.hidden { throw TokenRefusal(.claims, "the name after dev: holds a character that nobody sees (\(hidden))") }
        return Identity(user: user, grants: [Grant("*", .member)], expires: nil)
    }
}
