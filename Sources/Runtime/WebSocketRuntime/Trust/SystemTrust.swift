import WebSocketCore

/// Verifies servers by ``TLSOptions`` where the system performs TLS: Network.framework and URLSession.
///
/// The system verifies the chain and the host. This type turns its result into an error, and checks the pins.
package struct SystemTrust: Sendable {
    /// The features of ``TLSOptions`` that URLSession supports.
    package static let ofURLSession: Set<TLSFeature> = [.trust, .additionalRoots, .pins, .minimumVersion, .isInsecure]
    /// The features that Network.framework supports.
    package static let ofNetwork: Set<TLSFeature> = ofURLSession.union([.serverName, .applicationProtocols])

    package let options: TLSOptions
    /// The configured authorities in DER; used in addition to the system's if ``isOpenToSystem``.
    package let roots: [[UInt8]]
    private let names: [String]
    private let complaint: TrustProblem

    /// - Parameters:
    ///
    ///   - host: The host of the URL.
    ///   - place: The name of the server in errors.
    ///   - path: The name of this API in errors.
    ///   - features: The features that this API supports.
    /// - Throws: `invalidConfiguration` for options that are not supported, and for authorities that cannot be read.
    package init(
        _ options: TLSOptions, host: String, place: String, path: String, supporting features: Set<TLSFeature>
    ) throws(TransportError) {
        try options.check(for: path, supporting: features)
        self.options = options
        names = [host] + (options.serverName.map { [$0] } ?? [])
        complaint = TrustProblem(place: place, name: options.serverName ?? host, features: features)
        var roots: [[UInt8]] = []
        switch options.trust {
        case .system: break
        case .file(let path): roots += try PEMSource.file(path).certificates(of: "the trusted certificates")
        case .pem(let bytes): roots += try PEMSource.bytes(bytes).certificates(of: "the trusted certificates")
        }
        for root in options.additionalRoots { roots += try root.certificates(of: "the additional roots") }
        self.roots = roots
    }

    /// Whether the authorities of the system are trusted besides ``roots``.
    package var isOpenToSystem: Bool { options.trust == .system }

    /// Returns the error if the server is refused; nil if it is accepted.
    ///
    /// Reports to ``TLSOptions/onPinReport``.
    ///
    /// - Parameters:
    ///   - server: The system's result.
    ///   - now: The time in seconds since 1970.
    package func verdict(on server: ServerTrust, now: Int64) -> TransportError? {
        guard !options.isInsecure else { return nil }
        // A certificate that cannot be read matches no pin.
        let chain = server.chain.compactMap { ServerCertificate(der: $0) }
        if let fault = server.fault { return failure(fault, chain, now) }
        let reports = options.pins.reports(on: chain, of: names, now: now)
        for report in reports { options.onPinReport?(report) }
        return reports.first(where: \.isRefused).map(complaint.pinMismatch)
    }

    /// Converts the system's fault; the numbers are from SecBase.h.
    private func failure(_ fault: ServerTrust.Fault, _ chain: [ServerCertificate], _ now: Int64) -> TransportError {
        switch (fault.code, chain.first) {
        case (-67602, let leaf): return complaint.wrongHost(leaf, underlying: fault)  // errSecHostNameMismatch
        // errSecCertificateExpired, errSecCertificateNotValidYet: may concern any certificate of the chain.
        case (-67818, let leaf?), (-67819, let leaf?):
            let culprit = chain.first { now > $0.notAfter || now < $0.notBefore }
            guard let culprit else { return complaint.failure(.certificateExpired, "\(leaf): \(fault.words)", underlying: fault) }
            return complaint.untrusted(culprit, now: now, underlying: fault)
        // errSecNotTrusted, errSecCreateChainFailed
        case (-67843, let leaf?), (-25318, let leaf?): return complaint.untrusted(leaf, now: now, underlying: fault)
        default: return complaint.failure(.tls, "\(fault.words) (\(fault.code))", underlying: fault)
        }
    }
}

extension PEMSource {
    /// The certificates in DER.
    fileprivate func certificates(of what: String) throws(TransportError) -> [[UInt8]] {
        guard let found = contents.flatMap(PEM.certificates(in:)), !found.isEmpty else {
            throw TransportError(.invalidConfiguration, "\(what) cannot be read (\(words))\(mistake.map { ": \($0)" } ?? "")")
        }
        return found
    }
}
