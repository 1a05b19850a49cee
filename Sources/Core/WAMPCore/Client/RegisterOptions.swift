public import CodecCore

/// How a procedure is offered.
public struct RegisterOptions: Hashable, Sendable {
    /// Who is called where several offer the same procedure.
    ///
    /// Source: WAMP, "Shared Registration".
    public enum Sharing: String, Hashable, Sendable, CaseIterable {
        /// There is one only.
        case single
        /// One after the other.
        case roundRobin = "roundrobin"
        /// Any.
        case random
        /// The one that came first.
        case first
        /// The one that came last.
        case last
    }

    /// How the URI is compared.
    public var match: WAMPMatch
    /// Who is called where several offer it.
    public var sharing: Sharing
    /// Whether a registration of another session is taken over (Crossbar's `force_reregister`).
    public var takesOver: Bool
    /// How long the router may say `procedure_already_exists` after a reconnect, before that counts.
    ///
    /// The session that was lost may live there still.
    public var takeoverPatience: Duration
    /// Other options, sent as they are.
    public var other: ValueMap

    /// Options: exact, alone, and patient for 60 s.
    public init(
        match: WAMPMatch = .exact, sharing: Sharing = .single, takesOver: Bool = false, takeoverPatience: Duration = .seconds(60),
        other: ValueMap = ValueMap()
    ) {
        (self.match, self.sharing, self.takesOver) = (match, sharing, takesOver)
        (self.takeoverPatience, self.other) = (takeoverPatience, other)
    }
}
