/// What all messages cost in one format: bytes, and processor time.
struct FormatCost: Hashable, Sendable {
    let format: String
    let plain: Int
    let deflated: Int
    let deflatedWithTakeover: Int
    let encode: Duration
    let decode: Duration
    let deflate: Duration
    let deflateWithTakeover: Duration
}
