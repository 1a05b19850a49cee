/// Describes which faults a ``FaultyLink`` applies and when, as a value or in a small language.
///
/// ```
/// after 2s cut; every 5s..9s cut rst; at 20s stall 8s; at 30s refuse 3s
/// at 40s throttle 16KiB/s for 10s
/// delay 20ms..80ms                 # from the beginning
/// ```
/// Steps are separated by semicolons or line breaks, in any order; `#` begins a comment. See ``grammar``.
/// The seed of a ``FaultPlan`` decides on the times in a range `A..B`. For ranges inside a ``Fault``, the link draws a new value each
/// time.
public struct FaultScript: Hashable, Sendable {
    /// The steps; the order matters only for steps that begin after the previous one.
    public var steps: [FaultStep]

    /// Creates a script from these steps.
    public init(_ steps: [FaultStep]) { self.steps = steps }

    /// Parses a script.
    public init(_ text: String) throws(FaultScriptError) {
        var parser = FaultParser(text)
        steps = try parser.script()
    }

    /// The complete grammar as readable text, in lines of less than 80 characters.
    public static let grammar = """
        A script is a list of steps, separated by semicolons or line breaks.
        # begins a comment. A step is [WHEN] [every TIME] FAULT [for TIME].
        WHEN:  at TIME     counted from the start of the script
               after TIME  counted from the end of the previous step
               (neither)   at the start, or after the first interval
        FAULT: cut [rst]                   cut every connection
               cut [rst] after BYTES       cut each after it carried this many
               stall                       hold everything back, lose nothing
               swallow [up|down]           read all, forward nothing: half-open
               refuse                      accept new connections and close them
               close                       close the port: the system refuses
               throttle BYTES/s [up|down]  limit the rate of all connections
               delay TIME                  delay each piece, keep the order
               heal                        end every fault
        TIME:  250ms, 1.5s, 2m, 1h, or a range 5s..9s, drawn by the seed.
        BYTES: 512B, 16KiB, 2MiB, 64KB; 'cut after' also takes 1KiB..64KiB.
        up is to the server, down is back. Of one kind, the last fault counts.
        """
}

extension FaultScript: CustomStringConvertible {
    /// The script in its language; parsing it gives the same script, with times exact to a microsecond.
    public var description: String { steps.map(\.description).joined(separator: "; ") }
}

/// One step of a ``FaultScript``: a fault, when it begins, how often it recurs, and how long it lasts.
public struct FaultStep: Hashable, Sendable {
    /// When a step begins; the seed chooses a time from the range.
    public enum Start: Hashable, Sendable {
        /// This long after the script began.
        case at(ClosedRange<Duration>)
        /// This long after the previous step has ended; recurring steps do not count as a previous step.
        case after(ClosedRange<Duration>)
    }

    /// When the step begins; nil: when the script begins, or one interval later if the step recurs.
    public var start: Start?
    /// The time between two occurrences, at least one millisecond; nil if the step happens once.
    public var interval: ClosedRange<Duration>?
    /// The fault.
    public var fault: Fault
    /// How long the fault lasts; nil: until the end, or until ``Fault/heal``.
    ///
    /// It has no meaning for a fault that takes effect once.
    public var length: ClosedRange<Duration>?

    /// Creates a step.
    public init(
        _ fault: Fault, start: Start? = nil, every interval: ClosedRange<Duration>? = nil, for length: ClosedRange<Duration>? = nil
    ) {
        (self.fault, self.start, self.interval, self.length) = (fault, start, interval, length)
    }
}

extension FaultStep: CustomStringConvertible {
    /// The step in the notation of a script, such as `at 20s stall for 8s`.
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

/// A syntax error in a ``FaultScript``: its position, and what was expected there.
public struct FaultScriptError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line, counted from 1.
    public let line: Int
    /// The character in the line, counted from 1.
    public let column: Int
    /// What was expected there, in words.
    public let expected: String
    /// The text found there; empty at the end of a step.
    public let found: String

    /// The error as a message, such as `line 1, column 7: expected a time such as 250ms or 5s..9s, found "soon"`.
    public var description: String {
        "line \(line), column \(column): expected \(expected), found " + (found.isEmpty ? "the end of the step" : "\"\(found)\"")
    }
}
