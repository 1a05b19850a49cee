import MachineCore

/// Certificates in PEM (RFC 7468), for those who take them in DER only.
package enum PEM {
    /// The DER of all certificates in a text, in their order; nil if one of them is cut off or no base64.
    ///
    /// What stands around them, keys among it, does not count.
    package static func certificates(in text: [UInt8]) -> [[UInt8]]? {
        var (found, digits): ([[UInt8]], [UInt8]?) = ([], nil)
        for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let line = line.drop { isBlank($0) }
            if line.starts(with: Self.begin) && labels.contains(where: { line.dropFirst(Self.begin.count).starts(with: $0) }) {
                guard digits == nil else { return nil }
                digits = []
            } else if let body = digits, line.starts(with: Self.end) {
                guard let der = Base64.bytes(of: body, isCanonical: false), !der.isEmpty else { return nil }
                found.append(der)
                digits = nil
            } else if digits != nil {
                digits?.append(contentsOf: line.filter { !isBlank($0) })
            }
        }
        return digits == nil ? found : nil
    }

    private static let (begin, end) = (Array("-----BEGIN ".utf8), Array("-----END ".utf8))
    /// The second is what it was called before (RFC 7468 §5.1).
    private static let labels = [Array("CERTIFICATE-----".utf8), Array("X509 CERTIFICATE-----".utf8)]

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
