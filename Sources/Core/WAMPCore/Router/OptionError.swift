import CodecCore

/// An option is of another type than the specification has: a breach of the protocol.
struct OptionError: Error, Hashable, Sendable {
    /// Which.
    let name: String

    /// What the client is told.
    var words: String { "the option \(name) is of the wrong type" }
}

extension ValueMap {
    /// An option that is true or false, or nil if it is missing.
    func flag(_ name: String) throws(OptionError) -> Bool? {
        guard let value = self[.text(name)] else { return nil }
        guard let flag = value.bool else { throw OptionError(name: name) }
        return flag
    }

    /// An option that is a text, or nil if it is missing.
    func text(_ name: String) throws(OptionError) -> String? {
        guard let value = self[.text(name)] else { return nil }
        guard let text = value.string else { throw OptionError(name: name) }
        return text
    }
}
