import MachineCore

/// The source of decisions: a random generator or a script of bytes.
package struct Choices: Sendable {
    private enum Source: Sendable {
        case chance(SplitMix64)
        case script(ArraySlice<UInt8>)
    }
    private var source: Source

    /// Random choices; a seed always gives the same ones.
    package init(seed: UInt64) { source = .chance(SplitMix64(seed: seed)) }

    /// Reads one byte for a choice among up to 256, otherwise two.
    package init(script: some Sequence<UInt8>) { source = .script(Array(script)[...]) }

    /// Whether the script is used up; random choices never end.
    package var isOver: Bool {
        switch source {
        case .chance: false
        case .script(let rest): rest.isEmpty
        }
    }

    /// A number below the count; 0 when the script is used up.
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

    /// One of these values.
    package mutating func pick<Value>(_ choices: [Value]) -> Value { choices[pick(choices.count)] }

    /// Whether an event with this average frequency happens now.
    package mutating func odds(_ count: Int) -> Bool { pick(count) == 0 }
}
