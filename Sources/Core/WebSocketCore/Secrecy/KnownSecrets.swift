import MachineCore

/// Texts that are secret in a session, such as its tokens and passwords: found wherever they stand, however they are written.
///
/// A secret is found as it is, percent-encoded, in Base64 (also in the middle of something longer), and with the escapes of JSON. What may
/// be the beginning of one at the end of a text is hidden, too, for the text may have been cut there.
package struct KnownSecrets: Sendable {
    /// The longest first, so that a part of one does not leave the rest of it.
    private var spellings: [[UInt8]] = []
    /// How much of a secret at the end of a text counts as its beginning.
    private static let least = 3

    /// Makes a list of none.
    package init() {}

    /// A list of these.
    package init(_ secrets: some Sequence<String>) { for secret in secrets { insert(secret) } }

    /// Whether there is none.
    package var isEmpty: Bool { spellings.isEmpty }
    /// The length of the longest spelling.
    package var longest: Int { spellings.first?.count ?? 0 }

    /// Adds one; an empty text is none.
    package mutating func insert(_ secret: String) {
        let bytes = Array(secret.utf8)
        guard !bytes.isEmpty else { return }
        let encoded = [true, false].map { PercentEncoding.encode(bytes, uppercase: $0, except: PercentEncoding.isUnreserved) }
        let all = [bytes] + encoded + Self.inBase64(bytes) + Self.escaped(bytes)
        for spelling in all where !spellings.contains(spelling) { spellings.append(spelling) }
        spellings.sort { $0.count > $1.count }
    }

    /// Where they lie in bytes; the ranges may overlap.
    package func ranges(in bytes: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        for spelling in spellings {
            var place = 0
            while let start = Self.find(spelling, in: bytes, from: place) {
                found.append(start..<min(start + spelling.count, bytes.count))
                place = start + spelling.count
                if place > bytes.count { break }
            }
        }
        return found
    }

    /// A text without them.
    package func hiding(_ text: String) -> String {
        guard !isEmpty else { return text }
        let bytes = Array(text.utf8)
        let ranges = ranges(in: bytes)
        return ranges.isEmpty ? text : String(decoding: Secrecy.replacing(ranges, in: bytes), as: UTF8.self)
    }

    /// Where the spelling begins, whole or cut by the end.
    private static func find(_ spelling: [UInt8], in bytes: [UInt8], from place: Int) -> Int? {
        guard place < bytes.count else { return nil }
        for start in place..<bytes.count where bytes[start] == spelling[0] {
            let length = min(spelling.count, bytes.count - start)
            guard length >= min(least, spelling.count) else { return nil }
            if bytes[start..<(start + length)] == spelling[..<length] { return start }
        }
        return nil
    }

    // MARK: - Spellings

    /// Base64 writes a text in three ways, as it lies; of each this is what does not depend on what is around it.
    private static func inBase64(_ bytes: [UInt8]) -> [[UInt8]] {
        var all: [[UInt8]] = []
        for lead in 0..<3 {
            let text = Base64.digits([UInt8](repeating: 0, count: lead) + bytes)
            let (start, end) = ((lead * 8 + 5) / 6, (lead + bytes.count) * 8 / 6)
            guard end - start >= 6 else { continue }
            let digits = Array(text[start..<end])
            all.append(digits)
            all.append(digits.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 })
        }
        return all
    }

    private static func escaped(_ bytes: [UInt8]) -> [[UInt8]] {
        func escaping(_ special: some Sequence<UInt8>) -> [UInt8] {
            bytes.flatMap { special.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
        }
        return [escaping(#""\"#.utf8), escaping(#""\/"#.utf8)]
    }
}
