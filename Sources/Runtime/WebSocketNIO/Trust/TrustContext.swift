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

/// The trust decision of one connection.
struct TrustContext: Sendable {
    let options: TLSOptions
    /// The host of the URL.
    let host: String
    /// The name of the server in errors.
    let place: String
    /// Whether the chain is only to be inspected.
    let isInspection: Bool
    /// Whether the server asked for a client certificate.
    let wasAskedForCertificate = LockedValue(false)

    /// The address that the certificate must be for, if the host is an address: 4 or 16 bytes.
    let address: [UInt8]?

    init(options: TLSOptions, host: String, place: String, isInspection: Bool) {
        (self.options, self.host, self.place, self.isInspection) = (options, host, place, isInspection)
        address = options.serverName == nil ? Self.bytes(ofAddress: host) : nil
    }

    /// The name for SNI; RFC 6066 §3 allows no addresses there.
    var serverName: String? { options.serverName ?? (address == nil ? host : nil) }

    /// The names of the host for pin sets.
    var names: [String] { [host] + (options.serverName.map { [$0] } ?? []) }

    private static func bytes(ofAddress text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }

    /// Returns the error if a certificate of a trusted authority is not for this host.
    ///
    /// NIOSSL has checked names before. But it also accepts a certificate for the address to which a name resolves, which anyone who
    /// controls that address may have.
    func verificationError(leaf: ServerCertificate?) -> TransportError? {
        guard !isInspection, !options.isInsecure else { return nil }
        let isFor = if let address { leaf?.isFor(address: address) } else { leaf?.isFor(name: serverName ?? host) }
        return isFor == true ? nil : wrongHost(leaf, underlying: nil)
    }

    /// Reports the results of the pin sets; returns the error of the first refusal, if there is one.
    func pinFailure(chain: [ServerCertificate], now: Int64) -> TransportError? {
        guard !isInspection else { return nil }
        let reports = options.pins.reports(on: chain, of: names, now: now)
        for report in reports { options.onPinReport?(report) }
        return reports.first(where: \.isRefused).map(pinFailure)
    }

    /// Converts an error of TLS, before or after the handshake was complete.
    func sorted(_ error: any Error, watch: ChainWatch, isAgreed: Bool) -> any Error {
        if error is TransportError { return error }
        if let error = error as? NIOSSLExtraError {
            return error == .failedToValidateHostname ? wrongHost(watch.chain.first, underlying: error) : error
        }
        // The system's error, such as a reset, says more than the mere end of the connection.
        guard error is NIOSSLError || error is BoringSSLError else { return hangUp(underlying: error, isAgreed: true) ?? error }
        if let rejected = watch.rejected { return untrusted(rejected, underlying: error) }
        let words = "\(error)"
        if words.contains("PROTOCOL_VERSION") || words.contains("UNSUPPORTED_PROTOCOL") {
            let oldest = options.minimumVersion == .tls13 ? "1.3" : "1.2"
            return failure(
                .tls,
                "the server does not support TLS \(oldest) or later; update it"
                    + (options.minimumVersion == .tls13 ? ", or lower TLSOptions.minimumVersion" : ""), underlying: error)
        }
        if words.contains("WRONG_VERSION_NUMBER") {
            return failure(
                .tls, "what the server sends is not TLS; if the server does not use TLS, use ws: or its other port", underlying: error)
        }
        if words.contains("CERTIFICATE_REQUIRED") || (words.contains("ALERT") && wasAsked) {
            return clientCertificateFailure(underlying: error)
        }
        let isHangUp = error as? NIOSSLError == .uncleanShutdown || words.contains("EOF during handshake")
        return (isHangUp ? hangUp(underlying: error, isAgreed: isAgreed) : nil)
            ?? failure(.tls, BoringSSLReason.words(of: error), underlying: error)
    }

    /// Returns the error if the server closed without an alert; nil if TLS had nothing to do with it.
    func hangUp(underlying: (any Error)?, isAgreed: Bool) -> TransportError? {
        (advice ?? (isAgreed ? nil : "look whether it speaks TLS at all"))
            .map { TransportError(.lost, "\(place) hung up during the handshake; \($0)", underlying: underlying) }
    }

    /// The advice for a failure after the server had asked for a client certificate; nil if it had not asked.
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

    private var complaint: TrustProblem { TrustProblem(place: place, name: options.serverName ?? host) }

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

/// The reason of a BoringSSL error; its own text is full of numbers, and of paths of its sources.
enum BoringSSLReason {
    /// Returns the reason as a text, such as `incorrect password`; the whole text if it contains no reason.
    static func words(of error: any Error) -> String {
        let text = "\(error)"
        guard let mark = text.firstRange(of: "OPENSSL_internal:") else { return text }
        return text[mark.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }.lowercased().replacing("_", with: " ")
    }
}
