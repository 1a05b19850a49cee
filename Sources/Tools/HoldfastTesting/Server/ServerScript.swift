/// What a ``ScriptedServer`` does with one connection, step by step.
///
/// ```swift
/// let script: ServerScript = [.expect("subscribe"), .send("101"), .ignorePings, .wait(.seconds(60))]
/// ```
/// After the last step the connection stays open, and pings and a close are still answered unless a step said otherwise.
public struct ServerScript: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// The steps, in order.
    public var steps: [ServerStep]

    /// A script of these steps.
    public init(_ steps: [ServerStep]) { self.steps = steps }

    /// A script of these steps.
    public init(arrayLiteral steps: ServerStep...) { self.steps = steps }
}
