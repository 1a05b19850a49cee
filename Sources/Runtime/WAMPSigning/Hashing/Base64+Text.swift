import CodecCore

extension Base64 {
    static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text, also where its padding is left out; nil if it is none.
    static func bytes(_ text: String) -> [UInt8]? {
        var padded = Array(text.utf8)
        while !padded.count.isMultiple(of: 4) { padded.append(UInt8(ascii: "=")) }
        return padded.withUnsafeBytes { bytes(of: $0) }
    }
}
