import CodecCore
import HoldfastProtocols
import WAMPCore
import WAMPSigning

extension WAMPView {
    /// The router asks who the app is.
    mutating func prove(_ handle: ClientHandle, _ method: String, _ extra: ValueMap, in shell: WAMPShell) {
        guard let identification = coding?.identification else { return }
        // SAFETY: cancelled with the connection, at the latest when joining has taken too long.
        proofs[handle] = Task { [weak shell, secrets = shell.context.secrets] in
            let answer: ClientCommand
            var hopeless: WAMPError?
            do {
                let proof = try await identification.prove(method: method, extra: extra)
                // Before it stands in a message: that may be logged by the socket, and repeated by the router.
                secrets.hide(proof.signature)
                answer = .proven(handle, signature: proof.signature, extra: proof.extra)
            } catch let error as SigningError {
                answer = .unproven(handle, "\(error)", isHopeless: error.isHopeless)
                if error.isHopeless { hopeless = .unproven("\(error)", underlying: error, isRetryable: false) }
            } catch {
                // What an error of the app's says may be secret: the address of a service with its token, say.
                answer = .unproven(handle, "\(type(of: error))")
            }
            shell?.command { [hopeless] view, _ in
                guard view.proofs.removeValue(forKey: handle) != nil else { return (nil, ()) }
                view.hopeless = hopeless
                return (answer, ())
            }
        }
    }
}

extension SigningError {
    /// Whether the next challenge of the same router will fare no better.
    fileprivate var isHopeless: Bool {
        switch self {
        case .field, .cost, .noSuchFunction, .notOffered, .key: true
        case .foreignNonce, .argon2, .cancelled: false
        }
    }
}
