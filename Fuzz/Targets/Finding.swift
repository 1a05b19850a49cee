/// An invariant that an input has violated.
public struct Finding: Error, CustomStringConvertible {
    /// The invariant, and what happened instead.
    public let description: String
}

/// Throws a ``Finding`` unless the condition holds.
func expect(_ condition: Bool, _ rule: @autoclosure () -> String) throws {
    guard !condition else { return }
    throw Finding(description: rule())
}

/// Throws a ``Finding`` unless both are equal.
func expectEqual<Value: Equatable>(_ one: Value, _ other: Value, _ rule: @autoclosure () -> String) throws {
    guard one != other else { return }
    throw Finding(description: "\(rule())\n  \(one)\n  \(other)")
}
