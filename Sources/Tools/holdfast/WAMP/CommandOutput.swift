import WAMPCore

/// What a command prints, as results: JSON, or else texts.
struct CommandOutput {
    private let isInParts: Bool
    /// What no part was made of yet.
    private var rest: [UInt8] = []

    init(isInParts: Bool) { self.isInParts = isInParts }

    /// Takes what was printed; the parts that are known to be followed by another.
    mutating func take(_ bytes: [UInt8]) -> [WAMPArguments] {
        rest += bytes
        guard isInParts, rest.count > 1, let end = rest.dropLast().lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        defer { rest.removeFirst(end + 1) }
        return rest[..<end].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Self.arguments($0) }
    }

    /// The last part, or all that was printed: one argument, or none if there is only white space.
    var result: WAMPArguments { Self.arguments(rest[...]) }

    private static func arguments(_ bytes: ArraySlice<UInt8>) -> WAMPArguments {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { return .none }
        return WAMPArguments([JSONArgument(argument: String(text[...last])).value])
    }
}
