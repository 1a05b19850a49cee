/// A protocol's rule book: inputs in, effects out.
///
/// A machine does no I/O, reads no clock, draws no randomness and never suspends.
/// The same inputs always give the same effects, so a machine can be replayed,
/// fuzzed and searched exhaustively.
///
/// A machine has one owner. The owner applies what happens with ``handle(_:at:into:)``,
/// carries out the effects in order, and calls ``wake(at:into:)`` at the ``deadline``.
public protocol Machine: Sendable {
    /// What can happen to the machine.
    associatedtype Input: Sendable
    /// What the machine asks for (an order) or tells (news).
    associatedtype Effect: Sendable

    /// When to call ``wake(at:into:)`` if nothing else happens first; nil while only an input can change anything.
    var deadline: Moment? { get }

    /// Applies one input and appends what must be done about it, in order.
    ///
    /// Moments never go backwards from one call to the next. What `effects` already holds stays as it is.
    mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect])

    /// Applies the passing of time. Calling early or twice is harmless.
    mutating func wake(at now: Moment, into effects: inout [Effect])
}
