import CodecCore
import MachineCore
import ProtocolCore
import WAMPCore
import WAMPSigning

/// Who the app is, and who the router is.
extension WAMPDesk {
    /// The router asks who the app is.
    func prove(_ handle: ClientHandle, _ method: String, _ extra: ValueMap, _ state: inout State) {
        guard let identification = state.identification else { return }
        // SAFETY: cancelled with the connection, at the latest when joining has taken too long.
        state.proofs[handle] = Task { [weak self, secrets] in
            let input: ClientInput
            var hopeless: WAMPError?
            do {
                let proof = try await identification.prove(method: method, extra: extra)
                // Before it stands in a message: that may be logged by the socket, and repeated by the router.
                secrets.hide(proof.signature)
                input = .proven(handle, signature: proof.signature, extra: proof.extra)
            } catch let error as SigningError {
                input = .unproven(handle, "\(error)")
                if error.isHopeless { hopeless = .unproven("\(error)", underlying: error, isRetryable: false) }
            } catch {
                // What an error of the app's says may be secret: the address of a service with its token, say.
                input = .unproven(handle, "\(type(of: error))")
            }
            self?.change { [hopeless] state, now in
                guard state.proofs.removeValue(forKey: handle) != nil else { return }
                if hopeless != nil { state.deeds.append(.part(.stop)) }
                state.ending = state.ending ?? hopeless
                Self.tell(input, &state, now)
            }
        }
    }

    /// Looks at the router's own proof.
    func check(_ handle: ClientHandle, _ details: ValueMap, _ state: inout State) {
        let isGenuine = state.identification?.check(details: details) ?? false
        state.deeds.append(.tell(.checked(handle, isGenuine: isGenuine)))
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
