/// What a router may make of a password, at least and at most.
///
/// Costs beyond these keep the device busy for minutes; costs below give a false router a hash from which the password is soon guessed.
/// Source: WAMP, "Salted Challenge Response Authentication".
public struct PasswordCosts: Hashable, Sendable {
    /// Iterations of PBKDF2.
    public var iterations: ClosedRange<Int>
    /// Iterations of Argon2id.
    public var passes: ClosedRange<Int>
    /// Memory for Argon2id, in KiB.
    public var memory: ClosedRange<Int>

    /// Costs: 1,000 to 1,000,000 iterations of PBKDF2, 1 to 16 of Argon2id over 1 to 256 MiB.
    public init(
        iterations: ClosedRange<Int> = 1000...1_000_000, passes: ClosedRange<Int> = 1...16, memory: ClosedRange<Int> = 1024...262_144
    ) {
        (self.iterations, self.passes, self.memory) = (iterations, passes, memory)
    }
}
