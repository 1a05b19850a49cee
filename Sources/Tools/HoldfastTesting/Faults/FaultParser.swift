import MachineCore

/// Parses the language of ``FaultScript``, step by step and word by word.
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

    /// Whether a time after the fault could be mistaken for a part of the fault, so that the keyword `for` is required.
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
        guard from <= to else { throw problem("a range from a smaller to a greater value") }
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

/// Splits the text of a script into steps and words, each with its position.
struct FaultLexer {
    struct Word: Hashable {
        let text: String
        let line: Int
        let column: Int
    }
    /// The words of a step, and the position where the step ends.
    struct Step {
        var words: [Word] = []
        var end: Word
    }

    /// The maximum number of characters of a word that an error quotes.
    private static let quoted = 40

    /// Returns the steps of a text, without empty ones.
    static func steps(in text: String) -> [Step] {
        var steps: [Step] = []
        var words: [Word] = []
        var (word, line, column, isComment) = ("", 1, 1, false)
        func place() -> Word { Word(text: "", line: line, column: column) }
        func endWord() {
            if !word.isEmpty { words.append(Word(text: word, line: line, column: column - word.count)) }
            word = ""
        }
        func endStep() {
            endWord()
            if !words.isEmpty { steps.append(Step(words: words, end: place())) }
            words = []
        }
        for character in text {
            if character.isNewline {
                endStep()
                (line, column, isComment) = (line + 1, 1, false)
                continue
            }
            if character == "#" {
                endWord()
                isComment = true
            }
            if !isComment {
                switch character {
                case ";": endStep()
                case _ where character.isWhitespace: endWord()
                default: word.append(character)
                }
            }
            column += 1
        }
        endStep()
        return steps
    }

    /// Returns the part of a word that an error shows.
    static func quote(_ word: Word) -> String {
        word.text.count > quoted ? word.text.prefix(quoted) + "…" : word.text
    }
}

/// The notation of times and sizes in scripts.
enum FaultWords {
    static let times: [(name: String, duration: Duration)] = [
        ("h", .seconds(3600)), ("m", .seconds(60)), ("s", .seconds(1)), ("ms", .milliseconds(1)), ("us", .microseconds(1)),
    ]
    static let sizes: [(name: String, bytes: Int)] = [
        ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000), ("B", 1),
    ]

    /// Returns the time in the largest unit that divides it evenly; fractions of a microsecond are dropped.
    static func time(_ duration: Duration) -> String {
        let microseconds = duration.withinScript.wholeMicroseconds
        if microseconds == 0 { return "0s" }
        for (name, unit) in [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000)] as [(String, Int64)]
        where microseconds.isMultiple(of: unit) {
            return "\(microseconds / unit)\(name)"
        }
        return "\(microseconds)us"
    }

    static func span(_ range: ClosedRange<Duration>) -> String {
        range.lowerBound == range.upperBound ? time(range.lowerBound) : "\(time(range.lowerBound))..\(time(range.upperBound))"
    }

    static func bytes(_ count: Int) -> String {
        for (name, unit) in sizes where count.isMultiple(of: unit) && count != 0 { return "\(count / unit)\(name)" }
        return "\(count)B"
    }

    static func bytes(_ range: ClosedRange<Int>) -> String {
        range.lowerBound == range.upperBound ? bytes(range.lowerBound) : "\(bytes(range.lowerBound))..\(bytes(range.upperBound))"
    }
}

/// Parses a number with its unit, in lower case.
enum FaultQuantity {
    /// Parses a time, exact to the nanosecond; returns nil for anything else and for more than ``FaultLimits/longest``.
    static func time(_ text: Substring) -> Duration? {
        guard let (value, unit) = split(text), let duration = FaultWords.times.first(where: { $0.name == unit })?.duration else {
            return nil
        }
        let nanoseconds = (value * Double(duration / .nanoseconds(1))).rounded()
        guard nanoseconds <= FaultLimits.longest / .nanoseconds(1) else { return nil }
        return .nanoseconds(Int64(nanoseconds))
    }

    /// Parses a number of bytes; returns nil for anything else and for a number outside `range`.
    static func bytes(_ text: Substring, within range: ClosedRange<Int>) -> Int? {
        guard let (value, unit) = split(text), let factor = FaultWords.sizes.first(where: { $0.name.lowercased() == unit })?.bytes
        else { return nil }
        let bytes = (value * Double(factor)).rounded()
        guard bytes <= Double(range.upperBound), range.contains(Int(bytes)) else { return nil }
        return Int(bytes)
    }

    /// Splits a text into its leading number, which may contain a decimal point, and the rest.
    private static func split(_ text: Substring) -> (value: Double, unit: Substring)? {
        let number = text.prefix { $0 == "." || ("0"..."9").contains($0) }
        guard number.count <= 20, number.first != ".", number.last != ".", let value = Double(number) else { return nil }
        return (value, text[number.endIndex...])
    }
}
