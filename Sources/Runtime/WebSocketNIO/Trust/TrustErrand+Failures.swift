import NIOConcurrencyHelpers
import NIOSSL
import WebSocketCore
import WebSocketRuntime

extension TrustErrand {
    /// Why a certificate that an authority vouches for is not the host's.
    ///
    /// NIOSSL has checked names before. But it also takes a certificate for the address that a name led to, which anybody may have who
    /// answers to the name.
    func mistrust(leaf: ServerCertificate?) -> TransportError? {
        guard !isInspection, !options.isInsecure else { return nil }
        let isFor = if let address { leaf?.isFor(address: address) } else { leaf?.isFor(name: serverName ?? host) }
        return isFor == true ? nil : wrongHost(leaf, underlying: nil)
    }

    /// Tells what pin sets have to report; the first refusal, if there is one.
    func pinFailure(chain: [ServerCertificate], now: Int64) -> TransportError? {
        guard !isInspection else { return nil }
        let reports = options.pins.reports(on: chain, of: names, now: now)
        for report in reports { options.onPinReport?(report) }
        return reports.first(where: \.isRefused).map(pinFailure)
    }

    /// Sorts what TLS met.
    func sorted(_ error: any Error, watch: ChainWatch) -> any Error {
        if error is TransportError { return error }
        if let error = error as? NIOSSLExtraError {
            return error == .failedToValidateHostname ? wrongHost(watch.chain.first, underlying: error) : error
        }
        guard error is NIOSSLError || error is BoringSSLError else { return hangUp(underlying: error) ?? error }
        if let rejected = watch.rejected { return untrusted(rejected, underlying: error) }
        let words = "\(error)"
        if words.contains("PROTOCOL_VERSION") || words.contains("UNSUPPORTED_PROTOCOL") {
            let oldest = options.minimumVersion == .tls13 ? "1.3" : "1.2"
            return failure(
                .tls,
                "the server speaks no TLS of version \(oldest) or later; update it"
                    + (options.minimumVersion == .tls13 ? ", or lower TLSOptions.minimumVersion" : ""), underlying: error)
        }
        if words.contains("CERTIFICATE_REQUIRED") || (words.contains("ALERT") && wasAsked) {
            return clientCertificateFailure(underlying: error)
        }
        let isHangUp = error as? NIOSSLError == .uncleanShutdown || words.contains("EOF during handshake")
        return (isHangUp ? hangUp(underlying: error) : nil) ?? error
    }

    /// What to say when the server hung up after it had asked for a certificate, without an alert: it may have had other reasons.
    func hangUp(underlying: (any Error)?) -> TransportError? {
        guard wasAsked else { return nil }
        let advice =
            options.identity == nil
            ? "got none; if it needs one, give it one in TLSOptions.identity"
            : "got one; look whether TLSOptions.identity is what it accepts"
        return TransportError(
            .lost, "\(place) hung up during the handshake; it had asked for a client certificate and \(advice)", underlying: underlying)
    }

    private var wasAsked: Bool { wasAskedForCertificate.withLockedValue { $0 } }

    private func clientCertificateFailure(underlying: (any Error)?) -> TransportError {
        guard let identity = options.identity else {
            return failure(
                .clientCertificateWanted, "the server wants a client certificate; give it one in TLSOptions.identity",
                underlying: underlying)
        }
        return failure(
            .clientCertificateRefused,
            "the server did not accept the client certificate (\(identity)); "
                + "ask its operator which authority must have issued it, and look at its dates", underlying: underlying)
    }

    private func untrusted(_ certificate: ServerCertificate, underlying: any Error) -> TransportError {
        let now = TrustGate.now
        if now > certificate.notAfter || now < certificate.notBefore {
            let isOld = now > certificate.notAfter
            let day = CalendarDate(secondsSince1970: isOld ? certificate.notAfter : certificate.notBefore)
            return failure(
                .certificateExpired,
                "the certificate of \(certificate) \(isOld ? "expired on" : "is not valid before") \(day), and this machine has "
                    + "\(CalendarDate(secondsSince1970: now)); \(isOld ? "renew it on the server, or " : "")set the clock right",
                underlying: underlying)
        }
        if certificate.isSelfIssued {
            return failure(
                .unknownAuthority,
                "nobody trusted vouches for \(certificate), which is signed by itself; if it is yours, "
                    + "name it in TLSOptions.additionalRoots", underlying: underlying)
        }
        return failure(
            .unknownAuthority,
            "no trusted authority vouches for \(certificate); if \(certificate.quotedIssuer), which issued it, is yours, name its certificate "
                + "in TLSOptions.additionalRoots; if it is a public one, let the server send the whole chain", underlying: underlying)
    }

    private func wrongHost(_ leaf: ServerCertificate?, underlying: (any Error)?) -> TransportError {
        let names = leaf?.quotedNames ?? []
        let wanted = options.serverName ?? host
        return failure(
            .wrongHost,
            "the certificate is for \(names.isEmpty ? "no host" : names.joined(separator: ", ")), not for \(wanted); connect by "
                + "such a name, set TLSOptions.serverName to it, or give the server a certificate for \(wanted)", underlying: underlying)
    }

    private func pinFailure(_ report: PinReport) -> TransportError {
        let hosts = report.set.hosts.joined(separator: ", ")
        if report.finding == .expired {
            return failure(
                .pinMismatch, "the pins for \(hosts) expired on \(report.set.expires.map { "\($0)" } ?? "an unknown day"); update the app",
                underlying: nil)
        }
        let seen = report.chain.map { "\($0.publicKeyPin) (\($0))" }.joined(separator: ", ")
        return failure(
            .pinMismatch,
            "the chain has none of the \(report.set.pins.count) pins for \(hosts), but \(seen.isEmpty ? "could not be read" : seen); somebody "
                + "may be listening; if the server's keys were changed on purpose, update the pins (holdfast pin)", underlying: nil)
    }

    private func failure(_ code: TransportError.Code, _ words: String, underlying: (any Error)?) -> TransportError {
        TransportError(code, "TLS with \(place) failed: \(words)", underlying: underlying)
    }
}
