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

/// One step of a ``FaultScript``: what happens, when, how often, and for how long.
public struct FaultStep: Hashable, Sendable {
    /// When a step begins; out of a range, the seed decides.
    public enum Start: Hashable, Sendable {
        /// This long after the script began.
        case at(ClosedRange<Duration>)
        /// This long after the step before is over; a step that recurs is not waited for.
        case after(ClosedRange<Duration>)
    }

    /// When it begins; nil for with the script, or one interval later if it recurs.
    public var start: Start?
    /// How long after one time comes the next, a millisecond at least; nil if it happens once.
    public var interval: ClosedRange<Duration>?
    /// What happens.
    public var fault: Fault
    /// How long it holds; nil for until the end, or until ``Fault/heal``.
    ///
    /// For a fault that is over at once it says nothing.
    public var length: ClosedRange<Duration>?

    /// A step.
    public init(
        _ fault: Fault, start: Start? = nil, every interval: ClosedRange<Duration>? = nil, for length: ClosedRange<Duration>? = nil
    ) {
        (self.fault, self.start, self.interval, self.length) = (fault, start, interval, length)
    }
}

extension FaultStep: CustomStringConvertible {
    /// As it stands in a script, such as `at 20s stall for 8s`.
    public var description: String {
        var words: [String] = []
        switch start {
        case .at(let range): words.append("at \(FaultWords.span(range))")
        case .after(let range): words.append("after \(FaultWords.span(range))")
        case nil: break
        }
        if let interval { words.append("every \(FaultWords.span(interval))") }
        words.append(fault.description)
        if let length, fault.lasts { words.append("for \(FaultWords.span(length))") }
        return words.joined(separator: " ")
    }
}

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
