import MachineCore

/// What decides wherever anything may happen: chance, or a script of bytes.
package struct Choices: Sendable {
    private enum Source: Sendable {
        case chance(SplitMix64)
        case script(ArraySlice<UInt8>)
    }
    private var source: Source

    /// Chance, the same for the same seed.
    package init(seed: UInt64) { source = .chance(SplitMix64(seed: seed)) }

    /// A byte for a choice among up to 256, two for one among more.
    package init(script: some Sequence<UInt8>) { source = .script(Array(script)[...]) }

    /// Whether the script has been read; chance has no end.
    package var isOver: Bool {
        switch source {
        case .chance: false
        case .script(let rest): rest.isEmpty
        }
    }

    /// One of so many; the first once the script has been read.
    package mutating func pick(_ count: Int) -> Int {
        switch source {
        case .chance(var random):
            let choice = Int.random(in: 0..<count, using: &random)
            source = .chance(random)
            return choice
        case .script(var rest):
            var choice = Int(rest.popFirst() ?? 0)
            if count > 256 { choice = choice << 8 | Int(rest.popFirst() ?? 0) }
            source = .script(rest)
            return choice % count
        }
    }

    /// One of these.
    package mutating func pick<Value>(_ choices: [Value]) -> Value { choices[pick(choices.count)] }

    /// What happens once in so many times.
    package mutating func odds(_ count: Int) -> Bool { pick(count) == 0 }
}
