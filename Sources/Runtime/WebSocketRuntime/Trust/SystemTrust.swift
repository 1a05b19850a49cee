import WebSocketCore

/// Judges servers by ``TLSOptions`` where the system does TLS: Network.framework and URLSession.
///
/// The system verifies chain and host; what it found is given words here, and the pins are looked at.
package struct SystemTrust: Sendable {
    /// What of ``TLSOptions`` URLSession can do.
    package static let ofURLSession: Set<TLSFeature> = [.trust, .additionalRoots, .pins, .minimumVersion, .isInsecure]
    /// What of it Network.framework can do.
    package static let ofNetwork: Set<TLSFeature> = ofURLSession.union([.serverName, .applicationProtocols])

    package let options: TLSOptions
    /// The authorities that were named, in DER: in addition to the system's if ``isOpenToSystem``.
    package let roots: [[UInt8]]
    private let names: [String]
    private let complaint: TrustComplaint

    /// - Parameters:
    ///   - host: That of the URL.
    ///   - place: What errors call the server.
    ///   - path: What errors call this way to it.
    ///   - features: What this way can do.
    /// - Throws: `invalidConfiguration` for options that this way cannot do, and for authorities that cannot be read.
    package init(
        _ options: TLSOptions, host: String, place: String, path: String, supporting features: Set<TLSFeature>
    ) throws(TransportError) {
        try options.check(for: path, supporting: features)
        self.options = options
        names = [host] + (options.serverName.map { [$0] } ?? [])
        complaint = TrustComplaint(place: place, name: options.serverName ?? host, features: features)
        var roots: [[UInt8]] = []
        switch options.trust {
        case .system: break
        case .file(let path): roots += try PEMSource.file(path).certificates(of: "the trusted certificates")
        case .pem(let bytes): roots += try PEMSource.bytes(bytes).certificates(of: "the trusted certificates")
        }
        for root in options.additionalRoots { roots += try root.certificates(of: "the additional roots") }
        self.roots = roots
    }

    /// Whether the authorities of the system count, beside ``roots``.
    package var isOpenToSystem: Bool { options.trust == .system }

    /// Why the server is refused; nil: it is not.
    ///
    /// Reports to ``TLSOptions/onPinReport``.
    ///
    /// - Parameters:
    ///   - server: What the system found.
    ///   - now: In seconds since 1970.
    package func verdict(on server: ServerTrust, now: Int64) -> TransportError? {
        guard !options.isInsecure else { return nil }
        // What cannot be read matches no pin.
        let chain = server.chain.compactMap { ServerCertificate(der: $0) }
        if let fault = server.fault { return failure(fault, chain, now) }
        let reports = options.pins.reports(on: chain, of: names, now: now)
        for report in reports { options.onPinReport?(report) }
        return reports.first(where: \.isRefused).map(complaint.pinMismatch)
    }

    /// Sources of the numbers: SecBase.h.
    private func failure(_ fault: ServerTrust.Fault, _ chain: [ServerCertificate], _ now: Int64) -> TransportError {
        switch (fault.code, chain.first) {
        case (-67602, let leaf): return complaint.wrongHost(leaf, underlying: fault)  // errSecHostNameMismatch
        // errSecCertificateExpired, errSecCertificateNotValidYet: any of the chain may be the one.
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
