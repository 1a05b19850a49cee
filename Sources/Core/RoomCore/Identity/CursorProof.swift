/// A hub's word that an entry of its log stands where a cursor is: a client keeps it with the cursor, and shows it when it joins.
///
/// Nobody but the hub can make one, or tells anything by it. It shows a hub that its log has gone back.
public struct CursorProof: Hashable, Sendable, CustomStringConvertible {
    package let bits: Bits128

    package init(_ bits: Bits128) { self.bits = bits }

    /// Reads 32 hexadecimal digits.
    public init?(_ text: String) {
        guard let bits = Bits128(digits: text, dashes: false) else { return nil }
        self.bits = bits
    }

    /// 32 hexadecimal digits.
    public var description: String { bits.digits }
}
