/// Errors that quote a peer, who may have repeated a secret.
extension HandshakeFailure {
    /// The same without them.
    package func hiding(_ secrets: KnownSecrets) -> HandshakeFailure { HandshakeFailure(kind, secrets.hiding(detail)) }
}

extension ProxyFailure {
    /// The same without them.
    package func hiding(_ secrets: KnownSecrets) -> ProxyFailure {
        ProxyFailure(kind, secrets.hiding(description), response: response)
    }
}

extension RedirectProblem {
    /// The same without them.
    package func hiding(_ secrets: KnownSecrets) -> RedirectProblem { RedirectProblem(code, secrets.hiding(description)) }
}

extension URLProblem {
    /// The same without them.
    package func hiding(_ secrets: KnownSecrets) -> URLProblem { URLProblem(code, secrets.hiding(description)) }
}
