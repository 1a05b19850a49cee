/// A client did not do what a ``ServerScript`` expects.
public struct ScriptMismatch: Error, Hashable, Sendable, CustomStringConvertible {
    /// Which connection, from 1.
    public let connection: Int
    /// Which step of its script, from 1; 0 if the script did not begin in time.
    public let step: Int
    /// What the script expects, in words.
    public let expected: String
    /// What happened instead, in words.
    public let found: String

    /// Such as `connection 1, step 3: expected the text "hi", found the end of the connection`.
    public var description: String { "connection \(connection), step \(step): expected \(expected), found \(found)" }
}
