import NIOSSL
import WebSocketCore
import WebSocketRuntime

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What one connection's trust is about.
struct TrustErrand: Sendable {
    let options: TLSOptions
    /// As in the URL.
    let host: String
    /// What errors call the server.
    let place: String
    /// Whether the chain is only to be looked at.
    let isInspection: Bool
    /// Whether the server wanted a client certificate.
    let wasAskedForCertificate = LockedValue(false)

    /// The address that the certificate must be for, if it must be for one: 4 or 16 bytes.
    let address: [UInt8]?

    init(options: TLSOptions, host: String, place: String, isInspection: Bool) {
        (self.options, self.host, self.place, self.isInspection) = (options, host, place, isInspection)
        address = options.serverName == nil ? Self.bytes(ofAddress: host) : nil
    }

    /// The name for SNI; RFC 6066 §3 has no addresses there.
    var serverName: String? { options.serverName ?? (address == nil ? host : nil) }

    /// The names by which pin sets know the host.
    var names: [String] { [host] + (options.serverName.map { [$0] } ?? []) }

    private static func bytes(ofAddress text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }

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

    /// Sorts what TLS met, before or after it was agreed on.
    func sorted(_ error: any Error, watch: ChainWatch, isAgreed: Bool) -> any Error {
        if error is TransportError { return error }
        if let error = error as? NIOSSLExtraError {
            return error == .failedToValidateHostname ? wrongHost(watch.chain.first, underlying: error) : error
        }
        // The system's word, such as a reset, says more than that there was an end.
        guard error is NIOSSLError || error is BoringSSLError else { return hangUp(underlying: error, isAgreed: true) ?? error }
        if let rejected = watch.rejected { return untrusted(rejected, underlying: error) }
        let words = "\(error)"
        if words.contains("PROTOCOL_VERSION") || words.contains("UNSUPPORTED_PROTOCOL") {
            let oldest = options.minimumVersion == .tls13 ? "1.3" : "1.2"
            return failure(
                .tls,
                "the server speaks no TLS of version \(oldest) or later; update it"
                    + (options.minimumVersion == .tls13 ? ", or lower TLSOptions.minimumVersion" : ""), underlying: error)
        }
        if words.contains("WRONG_VERSION_NUMBER") {
            return failure(
                .tls, "what the server sends is not TLS; if it is meant to be without, use ws: or its other port", underlying: error)
        }
        if words.contains("CERTIFICATE_REQUIRED") || (words.contains("ALERT") && wasAsked) {
            return clientCertificateFailure(underlying: error)
        }
        let isHangUp = error as? NIOSSLError == .uncleanShutdown || words.contains("EOF during handshake")
        return (isHangUp ? hangUp(underlying: error, isAgreed: isAgreed) : nil)
            ?? failure(.tls, BoringSSLReason.words(of: error), underlying: error)
    }

    /// What to say when the server hung up without an alert; nil: nothing that has to do with TLS.
    func hangUp(underlying: (any Error)?, isAgreed: Bool) -> TransportError? {
        (advice ?? (isAgreed ? nil : "look whether it speaks TLS at all"))
            .map { TransportError(.lost, "\(place) hung up during the handshake; \($0)", underlying: underlying) }
    }

    /// What to say to a failure after the server had asked for a client certificate; nil: it had not.
    var advice: String? {
        guard wasAsked else { return nil }
        return "it had asked for a client certificate and "
            + (options.identity == nil
                ? "got none; if it needs one, give it one in TLSOptions.identity"
                : "got one; look whether TLSOptions.identity is what it accepts")
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

    private var complaint: TrustComplaint { TrustComplaint(place: place, name: options.serverName ?? host) }

    private func untrusted(_ certificate: ServerCertificate, underlying: any Error) -> TransportError {
        complaint.untrusted(certificate, now: TrustGate.now, underlying: underlying)
    }

    private func wrongHost(_ leaf: ServerCertificate?, underlying: (any Error)?) -> TransportError {
        complaint.wrongHost(leaf, underlying: underlying)
    }

    private func pinFailure(_ report: PinReport) -> TransportError { complaint.pinMismatch(report) }

    private func failure(_ code: TransportError.Code, _ words: String, underlying: (any Error)?) -> TransportError {
        complaint.failure(code, words, underlying: underlying)
    }
}

/// What BoringSSL calls a fault; its own text is full of numbers, and of the paths of its sources.
enum BoringSSLReason {
    /// The reason in words, such as `incorrect password`; the whole text if there is none in it.
    static func words(of error: any Error) -> String {
        let text = "\(error)"
        guard let mark = text.firstRange(of: "OPENSSL_internal:") else { return text }
        return text[mark.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }.lowercased().replacing("_", with: " ")
    }
}
