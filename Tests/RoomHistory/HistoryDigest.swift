/// A short name for bytes, to see that they are still the same.
///
/// Fowler, Noll and Vo's hash of 64 bits (FNV-1a). Good against mistakes, not against malice.
public enum HistoryDigest {
    /// 16 hexadecimal digits.
    public static func of(_ bytes: some Sequence<UInt8>) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
