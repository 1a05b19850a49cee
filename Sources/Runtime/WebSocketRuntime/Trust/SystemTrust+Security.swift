#if canImport(Security)
    import Darwin
    import Foundation
    package import Security

    extension SystemTrust {
        /// Returns the error if the server is refused; nil if it is accepted.
        ///
        /// Called while the handshake waits. It may block, because the system may have to ask whether a certificate was revoked.
        package func verdict(on trust: SecTrust) -> TransportError? {
            guard !options.isInsecure else { return nil }
            guard addRoots(to: trust) else {
                return TransportError(.invalidConfiguration, "the system cannot read the authorities that TLSOptions names")
            }
            // Replaces the system's policy, which may be for the URL's host.
            if let name = options.serverName { SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, name as CFString)) }
            var error: CFError?
            let isTrusted = SecTrustEvaluateWithError(trust, &error)
            // The evaluation has replaced the chain that was sent by the verified one. Its certificates contain their keys in the form
            // that pins use: `SecKeyCopyExternalRepresentation` would leave out the algorithm.
            let chain = (SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []).map { Array(SecCertificateCopyData($0) as Data) }
            let fault = ServerTrust.Fault(
                code: error.map { CFErrorGetCode($0) } ?? 0, words: error?.localizedDescription ?? "the system does not trust the server")
            return verdict(on: ServerTrust(chain: chain, fault: isTrusted ? nil : fault), now: Int64(time(nil)))
        }

        private func addRoots(to trust: SecTrust) -> Bool {
            guard !roots.isEmpty else { return true }
            let anchors = roots.compactMap { SecCertificateCreateWithData(nil, Data($0) as CFData) }
            return anchors.count == roots.count && SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess
                // Without this, only the anchors would be trusted.
                && SecTrustSetAnchorCertificatesOnly(trust, !isOpenToSystem) == errSecSuccess
        }
    }
#endif
