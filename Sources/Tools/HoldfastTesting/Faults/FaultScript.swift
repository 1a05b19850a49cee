/// What a ``FaultyLink`` is to do to its connections, and when: as a value, or in a small language.
///
/// ```
/// after 2s cut; every 5s..9s cut rst; at 20s stall 8s; at 30s refuse 3s
/// at 40s throttle 16KiB/s for 10s
/// delay 20ms..80ms                 # from the beginning
/// ```
/// Steps stand between semicolons or on lines, in any order; `#` begins a comment. See ``grammar``.
/// A range `A..B` is decided by the seed of a ``FaultPlan``; what ``Fault`` has ranges for, by the link, again and again.
public struct FaultScript: Hashable, Sendable {
    /// The steps; in which order matters to those that begin after the one before.
    public var steps: [FaultStep]

    /// A script of these steps.
    public init(_ steps: [FaultStep]) { self.steps = steps }

    /// Reads a script.
    public init(_ text: String) throws(FaultScriptError) {
        var parser = FaultParser(text)
        steps = try parser.script()
    }

    /// The whole language, for people, in lines of less than 80 characters.
    public static let grammar = """
        A script is a list of steps, between semicolons or on lines.
        # begins a comment. A step is [WHEN] [every TIME] FAULT [for TIME].
        WHEN:  at TIME     since the script began
               after TIME  since the step before was over
               (neither)   with the script, or after the first interval
        FAULT: cut [rst]                   break every connection
               cut [rst] after BYTES       break each when it carried so much
               stall                       hold all back, lose nothing
               swallow [up|down]           take all, pass nothing: half-open
               refuse                      hang up on whoever connects
               close                       close the port: the system refuses
               throttle BYTES/s [up|down]  let no more pass, all together
               delay TIME                  hold each piece back, in order
               heal                        end every fault
        TIME:  250ms, 1.5s, 2m, 1h, or 5s..9s, out of which the seed draws.
        BYTES: 512B, 16KiB, 2MiB, 64KB; 'cut after' takes 1KiB..64KiB too.
        up is to the server, down is back. Of one kind the latest fault counts.
        """
}

extension FaultScript: CustomStringConvertible {
    /// The script in its language; reading that gives the same script, times being exact to a microsecond.
    public var description: String { steps.map(\.description).joined(separator: "; ") }
}
