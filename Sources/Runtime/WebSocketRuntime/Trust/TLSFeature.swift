import WebSocketCore

/// Something of ``TLSOptions`` that not every way to a server can do.
package enum TLSFeature: String, Hashable, Sendable, CaseIterable {
    case trust, additionalRoots, pins, identity, minimumVersion, applicationProtocols, serverName, isInsecure
}

extension TLSOptions {
    /// What differs from the defaults.
    package var features: Set<TLSFeature> {
        let asked: [TLSFeature: Bool] = [
            .trust: trust != .system, .additionalRoots: !additionalRoots.isEmpty, .pins: !pins.isEmpty, .identity: identity != nil,
            .minimumVersion: minimumVersion != .tls12, .applicationProtocols: applicationProtocols != ["http/1.1"],
            .serverName: serverName != nil, .isInsecure: isInsecure,
        ]
        return Set(asked.filter(\.value).keys)
    }

    /// Throws `invalidConfiguration` if the options contradict each other, or ask for more than `path` can do.
    package func check(
        for path: String, supporting supported: Set<TLSFeature> = Set(TLSFeature.allCases)
    ) throws(TransportError) {
        let missing = features.subtracting(supported).map(\.rawValue).sorted()
        guard missing.isEmpty else {
            throw TransportError(
                .invalidConfiguration, "\(path) cannot honour \(missing.map { "TLSOptions.\($0)" }.joined(separator: ", "))")
        }
        if let problem { throw TransportError(.invalidConfiguration, "TLSOptions cannot be honoured: \(problem)") }
    }

    /// Throws `invalidConfiguration` if pins are enforced for a host that is to be reached without TLS.
    package func checkPlain(host: String) throws(TransportError) {
        guard let set = pins.first(where: { $0.mode == .enforce && $0.covers(host) }) else { return }
        throw TransportError(
            .invalidConfiguration,
            "ws: has no certificates, so the pins for \(set.hosts.joined(separator: ", ")) cannot be honoured; use wss:")
    }

    private var problem: String? {
        for set in pins { if let problem = set.problem { return problem } }
        if isInsecure {
            let contradicted = features.intersection([.trust, .additionalRoots, .pins]).map(\.rawValue).sorted()
            if let one = contradicted.first { return "isInsecure checks nothing, so it contradicts \(one); leave out one of them" }
        }
        for name in applicationProtocols where !(1...255 ~= name.utf8.count && name.utf8.allSatisfy { $0 < 0x80 }) {
            return "an application protocol is not 1 to 255 ASCII characters"
        }
        if let serverName {
            let isName = serverName.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "*") }
            let isAddress = serverName.allSatisfy { $0.isNumber || $0 == "." }
            guard isName, !isAddress, 1...255 ~= serverName.utf8.count else {
                return "serverName is no host name; SNI carries names only, no addresses or URLs"
            }
        }
        return nil
    }
}
