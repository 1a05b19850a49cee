/// Reads the language of ``FaultScript``, step by step and word by word.
struct FaultParser {
    private static let faults = "a fault (cut, stall, swallow, refuse, close, throttle, delay or heal)"

    private let steps: [FaultLexer.Step]
    private var words: ArraySlice<FaultLexer.Word> = []
    private var end = FaultLexer.Word(text: "", line: 1, column: 1)

    init(_ text: String) { steps = FaultLexer.steps(in: text) }

    mutating func script() throws(FaultScriptError) -> [FaultStep] {
        guard !steps.isEmpty else { throw problem(Self.faults) }
        var script: [FaultStep] = []
        for step in steps {
            (words, end) = (step.words[...], step.end)
            guard script.count < FaultLimits.steps else { throw problem("at most \(FaultLimits.steps) steps") }
            script.append(try self.step())
        }
        return script
    }

    private mutating func step() throws(FaultScriptError) -> FaultStep {
        var start: FaultStep.Start?
        if take("at") { start = .at(try span()) } else if take("after") { start = .after(try span()) }
        let interval = take("every") ? try interval() : nil
        let isTimed = start != nil || interval != nil
        let fault = try fault(orElse: isTimed ? Self.faults : "at, after, every or \(Self.faults)")
        var length: ClosedRange<Duration>?
        if fault.lasts {
            if take("for") {
                length = try span()
            } else if !words.isEmpty, !isValued(fault) {
                length = try span("for, a time or the end of the step")
            }
        }
        guard words.isEmpty else { throw problem(fault.lasts && length == nil ? "for or the end of the step" : "the end of the step") }
        return FaultStep(fault, start: start, every: interval, for: length)
    }

    /// Whether a time behind the fault could be taken for a part of it, so that it needs its `for`.
    private func isValued(_ fault: Fault) -> Bool {
        switch fault.kind {
        case .delay, .throttle, .cutAfter: true
        default: false
        }
    }

    private mutating func fault(orElse expected: String) throws(FaultScriptError) -> Fault {
        guard let kind = words.first.flatMap({ Fault.Kind(rawValue: $0.text.lowercased()) }) else { throw problem(expected) }
        words.removeFirst()
        switch kind {
        case .cut, .cutAfter:
            let ending: LinkEnding = take("rst") ? .rst : take("fin") ? .fin : .fin
            guard take("after") else { return .cut(ending) }
            return .cutAfter(try bytes(), ending)
        case .stall: return .stall
        case .swallow: return .swallow(directions())
        case .refuse: return .refuse
        case .close: return .close
        case .throttle:
            let rate = try rate()
            return .throttle(rate, directions())
        case .delay: return .delay(try span())
        case .heal: return .heal
        }
    }

    private mutating func directions() -> LinkDirections { take("up") ? .up : take("down") ? .down : .both }

    private mutating func interval() throws(FaultScriptError) -> ClosedRange<Duration> {
        let before = words
        let range = try span()
        guard range.lowerBound >= FaultLimits.shortestInterval else {
            words = before
            throw problem("an interval of 1ms or more")
        }
        return range
    }

    private mutating func span(
        _ expected: String = "a time such as 250ms, 1.5s or 5s..9s, of at most 366 days"
    ) throws(FaultScriptError) -> ClosedRange<Duration> {
        try range(expected) { FaultQuantity.time($0) }
    }

    private mutating func bytes() throws(FaultScriptError) -> ClosedRange<Int> {
        try range("a number of bytes such as 512B, 16KiB or 1KiB..64KiB") { FaultQuantity.bytes($0, within: FaultLimits.bytes) }
    }

    private mutating func rate() throws(FaultScriptError) -> Int {
        let rate = words.first.flatMap { word -> Int? in
            let text = word.text.lowercased()
            return text.hasSuffix("/s") ? FaultQuantity.bytes(text.dropLast(2), within: FaultLimits.rates) : nil
        }
        guard let rate else { throw problem("a rate such as 16KiB/s, of 1B/s to 10GiB/s") }
        words.removeFirst()
        return rate
    }

    private mutating func range<Value: Comparable>(
        _ expected: String, _ read: (Substring) -> Value?
    ) throws(FaultScriptError) -> ClosedRange<Value> {
        guard let word = words.first else { throw problem(expected) }
        let text = word.text.lowercased()
        var (low, high) = (text[...], text[...])
        if let dots = text.firstRange(of: "..") { (low, high) = (text[..<dots.lowerBound], text[dots.upperBound...]) }
        guard let from = read(low), let to = read(high) else { throw problem(expected) }
        guard from <= to else { throw problem("a range from less to more") }
        words.removeFirst()
        return from...to
    }

    private mutating func take(_ text: String) -> Bool {
        guard words.first?.text.lowercased() == text else { return false }
        words.removeFirst()
        return true
    }

    private func problem(_ expected: String) -> FaultScriptError {
        let word = words.first ?? end
        return FaultScriptError(line: word.line, column: word.column, expected: expected, found: FaultLexer.quote(word))
    }
}
