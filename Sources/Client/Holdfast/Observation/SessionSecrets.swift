package import WebSocketCore
package import WebSocketRuntime

/// What is secret in a session: whoever shows what peers say, or what messages carry, takes it out here.
///
/// To begin with, that is what the options carry. The session adds its credentials, a protocol on top of it what that has to show.
package final class SessionSecrets: Sendable {
    private struct State {
        var fixed: [String]
        /// The newest last.
        var added: [String] = []
        var cookies: CookieStore?
        /// Made when first asked for: most sessions show nothing of the kind.
        var known: (secrets: KnownSecrets, cookies: [String])?
    }
    /// How many that were added count: credentials are replaced as they expire.
    private static let memory = 64
    private let state: LockedValue<State>

    /// To begin with, these, and whatever is in the store when it is asked for.
    package init(_ fixed: [String] = [], cookies: CookieStore? = nil) { state = LockedValue(State(fixed: fixed, cookies: cookies)) }

    /// Adds one; of a name and a password with a colon between them, the password by itself, too.
    package func hide(_ secret: String) {
        state.withLockedValue { state in
            guard !secret.isEmpty, !state.added.contains(secret) else { return }
            state.added.append(secret)
            if state.added.count > Self.memory { state.added.removeFirst() }
            state.known = nil
        }
    }

    /// All of them, as they are to be found in texts.
    package var known: KnownSecrets {
        state.withLockedValue { state in
            let cookies = state.cookies?.jar.cookies.map(\.value) ?? []
            if let known = state.known, known.cookies == cookies { return known.secrets }
            let known = KnownSecrets(state.fixed + cookies + state.added.flatMap(KnownSecrets.parts))
            state.known = (known, cookies)
            return known
        }
    }

    /// A text without them.
    package func hiding(_ text: String) -> String { known.hiding(text) }
}

extension WebSocketError {
    /// The same error without secrets that a peer has repeated.
    func hiding(_ secrets: SessionSecrets) -> WebSocketError { WebSocketError(transport.hiding(secrets.known)) }
}

extension WebSocketOptions {
    /// What is secret in the requests that these options lead to.
    ///
    /// - Parameter urls: All endpoints.
    func secrets(_ urls: [String]) -> SessionSecrets {
        var texts = KnownSecrets.carried(by: nil, headers, subprotocols)
        for url in urls.compactMap({ try? WebSocketURL($0) }) {
            texts += KnownSecrets.carried(by: url, [:], [], try? connection.proxy.proxy(for: url))
        }
        return SessionSecrets(texts, cookies: connection.cookies)
    }
}

extension WebSocket {
    /// Tells the session's logs of a secret that is about to stand in a message.
    package func hide(_ secret: String) { secrets.hide(secret) }

    /// What is secret in this session.
    package var secrets: SessionSecrets { session.instruments.secrets }
}
