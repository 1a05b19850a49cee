package import WebSocketCore
package import WebSocketRuntime

/// The secrets of a session; code that shows texts of a peer or contents of messages removes them with this.
///
/// It starts with the secrets in the options. The session adds its credentials, and a protocol on top adds the secrets that it sends.
package final class SessionSecrets: Sendable {
    private struct State {
        var fixed: [String]
        /// The added secrets, the newest last.
        var added: [String] = []
        var cookies: CookieStore?
        /// Created on first use, because most sessions never need it.
        var known: (secrets: KnownSecrets, cookies: [String])?
    }
    /// The number of added secrets kept; credentials are replaced as they expire.
    private static let memory = 64
    private let state: LockedValue<State>

    /// Creates the set from fixed secrets and the cookies that the store has when it is used.
    package init(_ fixed: [String] = [], cookies: CookieStore? = nil) { state = LockedValue(State(fixed: fixed, cookies: cookies)) }

    /// Adds a secret; for a name and a password with a colon between them, also the password alone.
    package func hide(_ secret: String) {
        state.withLockedValue { state in
            guard !secret.isEmpty, !state.added.contains(secret) else { return }
            state.added.append(secret)
            if state.added.count > Self.memory { state.added.removeFirst() }
            state.known = nil
        }
    }

    /// All secrets in the forms in which they may appear in texts.
    package var known: KnownSecrets {
        state.withLockedValue { state in
            let cookies = state.cookies?.jar.cookies.map(\.value) ?? []
            if let known = state.known, known.cookies == cookies { return known.secrets }
            let known = KnownSecrets(state.fixed + cookies + state.added.flatMap(KnownSecrets.parts))
            state.known = (known, cookies)
            return known
        }
    }

    /// Returns a text without the secrets.
    package func hiding(_ text: String) -> String { known.hiding(text) }
}

extension WebSocketError {
    /// Returns the error without secrets that a peer has repeated.
    func hiding(_ secrets: SessionSecrets) -> WebSocketError { WebSocketError(transport.hiding(secrets.known)) }
}

extension WebSocketOptions {
    /// Returns the secrets in the requests that these options lead to.
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
    /// Hides a secret in the session's logs before it is sent in a message.
    package func hide(_ secret: String) { secrets.hide(secret) }

    /// The secrets of this session.
    package var secrets: SessionSecrets { session.instruments.secrets }
}
