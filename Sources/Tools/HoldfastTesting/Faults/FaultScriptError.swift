/// Where a text is no ``FaultScript``, and what should stand there.
public struct FaultScriptError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line, from 1.
    public let line: Int
    /// The character in the line, from 1.
    public let column: Int
    /// What would do there, in words.
    public let expected: String
    /// What stands there; empty at the end of a step.
    public let found: String

    /// Such as `line 1, column 7: expected a time such as 250ms or 5s..9s, found "soon"`.
    public var description: String {
        "line \(line), column \(column): expected \(expected), found " + (found.isEmpty ? "the end of the step" : "\"\(found)\"")
    }
}
