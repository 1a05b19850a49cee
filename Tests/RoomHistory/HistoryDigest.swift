/// A short hash of bytes, to check that they are unchanged.
///
/// The 64-bit hash of Fowler, Noll and Vo (FNV-1a). It detects mistakes, and does not withstand attacks.
public enum HistoryDigest {
    /// 16 hexadecimal digits.
    public static func of(_ bytes: some Sequence<UInt8>) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
