package import WebSocketCore

extension TransportError {
    /// The same error without secrets that a peer has repeated: in its detail, and in the error of the layer below.
    package func hiding(_ secrets: KnownSecrets) -> TransportError {
        let below: (any Error)? =
            switch underlying {
            case let failure as HandshakeFailure: failure.hiding(secrets)
            case let failure as ProxyFailure: failure.hiding(secrets)
            case let problem as RedirectProblem: problem.hiding(secrets)
            case let problem as URLProblem: problem.hiding(secrets)
            default: underlying
            }
        var error = TransportError(code, secrets.hiding(detail), underlying: below)
        (error.response, error.body, error.record, error.wasIdle) = (response, body, record, wasIdle)
        return error
    }
}
