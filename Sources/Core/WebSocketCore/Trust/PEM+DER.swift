extension PEM {
    /// What bytes are that should be PEM and are DER, and how to make PEM of them; nil if they are not DER.
    ///
    /// DER has no name of its own for what is in it: the first members of the outermost sequence tell a certificate, a private key, a
    /// public key and PKCS#12 apart (RFC 5280 §4.1, RFC 5958 §2, RFC 7292 §4).
    package static func mistake(in bytes: [UInt8]) -> String? {
        guard let content = sequence(bytes[...]), content.endIndex == bytes.endIndex else { return nil }
        switch content.first {
        case 0x02 where content.starts(with: [0x02, 1, 3]):
            return "it is PKCS#12, and PEM is wanted: make that with openssl pkcs12"
        case 0x02: return "it is DER, and PEM is wanted: make that with openssl pkey -inform der"
        // Where a certificate has its version or its number, a public key has the algorithm.
        case 0x30 where sequence(content)?.first == 0x06:
            return "it is DER, and PEM is wanted: make that with openssl pkey -pubin -inform der -pubout"
        default: return "it is DER, and PEM is wanted: make that with openssl x509 -inform der"
        }
    }

    /// What is in the sequence that some bytes begin with; nil if they begin with none, or it is cut off.
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
