extension ServerCertificate {
    /// Whether it is for this name (RFC 9525 §6): one of its DNS names, or one below a `*` that is the whole first label.
    ///
    /// The common name does not count, nor does an address that the name may lead to: anybody can have a certificate for his own.
    public func isFor(name: String) -> Bool {
        let name = Self.bare(name)
        return dnsNames.contains { presented in
            let presented = Self.bare(presented)
            guard presented.hasPrefix("*.") else { return !name.isEmpty && presented == name }
            let domain = presented.dropFirst()
            guard domain.dropFirst().contains("."), !domain.contains("*"), name.hasSuffix(domain) else { return false }
            let label = name.dropLast(domain.count)
            return !label.isEmpty && !label.contains(".")
        }
    }

    /// Whether it is for this address: 4 or 16 bytes, all of them alike.
    public func isFor(address: [UInt8]) -> Bool { addresses.contains(address) }

    /// In lower case, and without the dot of the root.
    private static func bare(_ name: String) -> Substring {
        let name = HeaderSyntax.lowercased(name)
        return name.hasSuffix(".") ? name.dropLast() : name[...]
    }
}
