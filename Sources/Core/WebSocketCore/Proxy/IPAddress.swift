/// An address as its bytes: 4 of IPv4, or 16 of IPv6 (RFC 4291 §2.2); no zone.
struct IPAddress: Hashable, Sendable {
    let bytes: [UInt8]

    /// Reads an address as people write it, without brackets; nil if it is something else, such as a name.
    init?(_ text: some StringProtocol) {
        guard let bytes = text.utf8.contains(UInt8(ascii: ":")) ? Self.version6(text) : Self.version4(text) else { return nil }
        self.bytes = bytes
    }

    /// Whether the first `length` bits are those of `other`.
    func shares(_ length: Int, with other: IPAddress) -> Bool {
        guard bytes.count == other.bytes.count, 0...(bytes.count * 8) ~= length else { return false }
        let (whole, rest) = (length / 8, length % 8)
        guard bytes[..<whole] == other.bytes[..<whole] else { return false }
        return rest == 0 || bytes[whole] >> (8 - rest) == other.bytes[whole] >> (8 - rest)
    }

    private static func version4(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        // A leading zero is octal to some and decimal to others: neither here.
        let bytes = parts.compactMap { $0.utf8.count > 1 && $0.hasPrefix("0") || !HeaderSyntax.isDecimal($0) ? nil : UInt8($0) }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    private static func version6(_ text: some StringProtocol) -> [UInt8]? {
        guard let gap = text.firstRange(of: "::") else {
            let bytes = groups(text, mayEndInVersion4: true)
            return bytes?.count == 16 ? bytes : nil
        }
        guard let head = groups(text[..<gap.lowerBound], mayEndInVersion4: false),
            let tail = groups(text[gap.upperBound...], mayEndInVersion4: true), head.count + tail.count <= 14
        else { return nil }
        return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    private static func groups(_ text: some StringProtocol, mayEndInVersion4: Bool) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if mayEndInVersion4, index == parts.count - 1, part.utf8.contains(UInt8(ascii: ".")) {
                guard let end = version4(part) else { return nil }
                bytes += end
            } else {
                guard 1...4 ~= part.utf8.count, part.allSatisfy(\.isHexDigit), let group = UInt16(part, radix: 16) else { return nil }
                bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
            }
        }
        return bytes
    }
}
