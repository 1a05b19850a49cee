import CodecCore
import MachineCore
import WAMPCore

/// Who the app is, and who the router is.
extension WAMPDesk {
    /// The router asks who the app is.
    func prove(_ handle: ClientHandle, _ method: String, _ extra: ValueMap, _ state: inout State) {
        guard let identification = state.identification else { return }
        // SAFETY: cancelled with the connection, at the latest when joining has taken too long.
        state.proofs[handle] = Task { [weak self] in
            let input: ClientInput
            do {
                let proof = try await identification.prove(method: method, extra: extra)
                input = .proven(handle, signature: proof.signature, extra: proof.extra)
            } catch {
                input = .unproven(handle, "\(error)")
            }
            self?.change { state, now in
                guard state.proofs.removeValue(forKey: handle) != nil else { return }
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
