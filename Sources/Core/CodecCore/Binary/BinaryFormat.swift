/// A binary format that describes itself: MessagePack or CBOR.
///
/// It is a value, and no generic parameter: the containers of `Codable` are called through tables, where a generic one could not be
/// specialized, and asking a flag costs less.
public struct BinaryFormat: Hashable, Sendable {
    @usableFromInline let isCBOR: Bool
    /// Whether a tag may stand in MessagePack, which has none: for what never leaves the process.
    @usableFromInline let hasTags: Bool

    /// MessagePack, with its timestamps.
    public static let messagePack = BinaryFormat(isCBOR: false, hasTags: false)
    /// CBOR, RFC 8949.
    public static let cbor = BinaryFormat(isCBOR: true, hasTags: true)
    /// MessagePack with tags behind the byte that it never uses, 0xC1: holds every ``Value`` exactly.
    package static let exchange = BinaryFormat(isCBOR: false, hasTags: true)
}
