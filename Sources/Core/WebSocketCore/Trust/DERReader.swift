import MachineCore

/// Reads a sequence of DER values (X.690).
///
/// It ends at the first malformed value.
struct DERReader {
    /// One value.
    struct Value {
        let tag: UInt8
        /// The bytes after tag and length.
        let content: ArraySlice<UInt8>
        /// The bytes including tag and length.
        let whole: ArraySlice<UInt8>

        /// The values inside.
        var inside: DERReader { DERReader(content) }
    }

    static let (boolean, integer, octets, objectID): (UInt8, UInt8, UInt8, UInt8) = (0x01, 0x02, 0x04, 0x06)
    static let bitString: UInt8 = 0x03
    static let (sequence, set): (UInt8, UInt8) = (0x30, 0x31)
    static let (utcTime, generalizedTime): (UInt8, UInt8) = (0x17, 0x18)

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The tag of the next value.
    var tag: UInt8? { rest.first }

    /// Returns the next value; nil at the end, or if it is malformed.
    mutating func next() -> Value? {
        guard let tag = rest.first, tag & 0x1F != 0x1F, let first = rest.dropFirst().first else { return nil }
        var (length, header) = (Int(first), 2)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard 1...4 ~= count, rest.count >= 2 + count else { return nil }
            length = rest.dropFirst(2).prefix(count).reduce(0) { $0 << 8 | Int($1) }
            header += count
        }
        guard rest.count - header >= length else { return nil }
        let whole = rest.prefix(header + length)
        rest = rest.dropFirst(header + length)
        return Value(tag: tag, content: whole.dropFirst(header), whole: whole)
    }

    /// Returns the next value if it has this tag.
    mutating func next(_ tag: UInt8) -> Value? { self.tag == tag ? next() : nil }
}

/// Converts certificates from PEM (RFC 7468) to DER.
package enum PEM {
    /// Returns the DER of all certificates in a text, in order; nil if one is truncated or not Base64.
    ///
    /// All other content is ignored, including keys.
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
    /// The second is the former name (RFC 7468 §5.1).
    private static let labels = [Array("CERTIFICATE-----".utf8), Array("X509 CERTIFICATE-----".utf8)]

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Returns what the bytes are, if they are DER instead of PEM, and how to convert them; nil if they are not DER.
    ///
    /// DER does not name its content. The first members of the outermost sequence distinguish a certificate, a private key, a public key
    /// and PKCS#12 (RFC 5280 §4.1, RFC 5958 §2, RFC 7292 §4).
    package static func mistake(in bytes: [UInt8]) -> String? {
        guard let content = sequence(bytes[...]), content.endIndex == bytes.endIndex else { return nil }
        switch content.first {
        case 0x02 where content.starts(with: [0x02, 1, 3]):
            return "it is PKCS#12, but PEM is required: convert it with openssl pkcs12"
        case 0x02: return "it is DER, but PEM is required: convert it with openssl pkey -inform der"
        // In the place of a certificate's version or number, a public key has its algorithm.
        case 0x30 where sequence(content)?.first == 0x06:
            return "it is DER, but PEM is required: convert it with openssl pkey -pubin -inform der -pubout"
        default: return "it is DER, but PEM is required: convert it with openssl x509 -inform der"
        }
    }

    /// Returns the content of the sequence at the start of the bytes; nil if there is none, or it is truncated.
    private static func sequence(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard bytes.first == 0x30, let second = bytes.dropFirst().first else { return nil }
        let lengthBytes = second < 0x80 ? 0 : Int(second & 0x7F)
        guard second != 0x80, lengthBytes <= 4 else { return nil }
        let rest = bytes.dropFirst(2)
        let length = lengthBytes == 0 ? Int(second) : rest.prefix(lengthBytes).reduce(0) { $0 << 8 | Int($1) }
        let content = rest.dropFirst(lengthBytes)
        guard rest.count >= lengthBytes, length > 0, content.count >= length else { return nil }
        return content.prefix(length)
    }
}
