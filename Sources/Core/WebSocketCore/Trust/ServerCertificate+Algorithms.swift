import MachineCore

extension ServerCertificate {
    /// The kind and size of a public key.
    package enum KeyKind: Hashable, Sendable, CustomStringConvertible {
        /// RSA, with so many bits.
        case rsa(bits: Int)
        /// An elliptic curve, by its name.
        case curve(String)
        /// Another algorithm, by the bytes of its object identifier in hexadecimal.
        case other(String)

        /// Such as `RSA, 2048 bits`.
        package var description: String {
            switch self {
            case .rsa(let bits): "RSA, \(bits) bits"
            case .curve(let name): name
            case .other(let name): "unknown (\(name))"
            }
        }
    }

    /// What its key is.
    package var keyKind: KeyKind {
        var outer = DERReader(publicKeyInfo[...])
        guard var info = outer.next(DERReader.sequence)?.inside, var algorithm = info.next(DERReader.sequence)?.inside,
            let name = algorithm.next(DERReader.objectID)
        else { return .other("") }
        if name.content.elementsEqual(Self.rsa + [0x01]) {
            // The key stands in a bit string, whose first byte says how many bits of the last do not count: none.
            guard let bits = info.next(DERReader.bitString) else { return .other("RSA") }
            var key = DERReader(bits.content.dropFirst())
            guard var numbers = key.next(DERReader.sequence)?.inside, let modulus = numbers.next(DERReader.integer) else {
                return .other("RSA")
            }
            let digits = modulus.content.drop { $0 == 0 }
            return .rsa(bits: digits.count * 8 - (digits.first?.leadingZeroBitCount ?? 0))
        }
        if let curve = Self.edwards[Array(name.content)] { return .curve(curve) }
        guard name.content.elementsEqual(Self.ecPublicKey), let curve = algorithm.next(DERReader.objectID) else {
            return .other(Hexadecimal.text(name.content))
        }
        return .curve(Self.curves[Array(curve.content)] ?? "elliptic curve (\(Hexadecimal.text(curve.content)))")
    }

    /// How its issuer signed it, such as `SHA-256 with RSA`.
    package var signature: String {
        guard let name = signatureName else { return "unknown" }
        return Self.signatures[name] ?? Self.edwards[name] ?? "unknown (\(Hexadecimal.text(name)))"
    }

    /// Whether the digest in its signature can be forged: MD5 or SHA-1.
    ///
    /// What signs itself proves nothing by that in any case.
    package var isWeaklySigned: Bool { !isSelfIssued && ["MD5", "SHA-1"].contains { signature.hasPrefix($0) } }

    private var signatureName: [UInt8]? {
        var outer = DERReader(der[...])
        guard var certificate = outer.next(DERReader.sequence)?.inside, certificate.next(DERReader.sequence) != nil,
            var algorithm = certificate.next(DERReader.sequence)?.inside
        else { return nil }
        return (algorithm.next(DERReader.objectID)?.content).map { Array($0) }
    }

    // RFC 8017, RFC 5480, RFC 5758, RFC 8410: as they are written in DER.
    private static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]
    private static let ecPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    private static let ecdsa: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04]
    private static let edwards: [[UInt8]: String] = [[0x2B, 0x65, 0x70]: "Ed25519", [0x2B, 0x65, 0x71]: "Ed448"]
    private static let curves: [[UInt8]: String] = [
        [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]: "P-256", [0x2B, 0x81, 0x04, 0x00, 0x22]: "P-384",
        [0x2B, 0x81, 0x04, 0x00, 0x23]: "P-521",
    ]
    private static let signatures: [[UInt8]: String] = [
        rsa + [0x04]: "MD5 with RSA", rsa + [0x05]: "SHA-1 with RSA", rsa + [0x0A]: "RSA-PSS", rsa + [0x0B]: "SHA-256 with RSA",
        rsa + [0x0C]: "SHA-384 with RSA", rsa + [0x0D]: "SHA-512 with RSA", ecdsa + [0x01]: "SHA-1 with ECDSA",
        ecdsa + [0x03, 0x02]: "SHA-256 with ECDSA", ecdsa + [0x03, 0x03]: "SHA-384 with ECDSA", ecdsa + [0x03, 0x04]: "SHA-512 with ECDSA",
    ]
}
