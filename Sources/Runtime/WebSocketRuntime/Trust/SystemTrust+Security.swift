#if canImport(Security)
    import Darwin
    import Foundation
    package import Security

    extension SystemTrust {
        /// Why the server is refused; nil: it is not.
        ///
        /// Called while the handshake waits. It may block for a while, as the system may have to ask whether a certificate was revoked.
        package func verdict(on trust: SecTrust) -> TransportError? {
            guard !options.isInsecure else { return nil }
            guard addRoots(to: trust) else {
                return TransportError(.invalidConfiguration, "the system cannot read the authorities that TLSOptions names")
            }
            // The system's policy may be for the URL's host.
            if let name = options.serverName { SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, name as CFString)) }
            var error: CFError?
            let isTrusted = SecTrustEvaluateWithError(trust, &error)
            // The evaluation has put the verified chain in place of the one that was sent. Its certificates hold their keys as pins have
            // them: `SecKeyCopyExternalRepresentation` would leave the algorithm out.
            let chain = (SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []).map { Array(SecCertificateCopyData($0) as Data) }
            let fault = ServerTrust.Fault(
                code: error.map { CFErrorGetCode($0) } ?? 0, words: error?.localizedDescription ?? "the system does not trust the server")
            return verdict(on: ServerTrust(chain: chain, fault: isTrusted ? nil : fault), now: Int64(time(nil)))
        }

        private func addRoots(to trust: SecTrust) -> Bool {
            guard !roots.isEmpty else { return true }
            let anchors = roots.compactMap { SecCertificateCreateWithData(nil, Data($0) as CFData) }
            return anchors.count == roots.count && SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess
                // Without this the anchors would be the only ones.
                && SecTrustSetAnchorCertificatesOnly(trust, !isOpenToSystem) == errSecSuccess
        }
    }
#endif
