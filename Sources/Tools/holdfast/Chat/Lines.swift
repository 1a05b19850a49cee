/// What is to be sent: the texts that were given, or else the lines of standard input as they come.
struct Lines: AsyncSequence, Sendable {
    typealias Element = LineSplitter.Line
    typealias Failure = Never
    var texts: [String] = []
    private let input = StandardInput()

    init(texts: [String]) { self.texts = texts }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(given: texts.isEmpty ? nil : texts.map { .text($0) }, input: input) }

    struct AsyncIterator: AsyncIteratorProtocol {
        typealias Failure = Never
        var given: [LineSplitter.Line]?
        let input: StandardInput
        var splitter = LineSplitter()
        var ready: [LineSplitter.Line] = []
        var isOver = false

        init(given: [LineSplitter.Line]?, input: StandardInput) { (self.given, self.input) = (given, input) }

        mutating func next() async -> LineSplitter.Line? {
            if given != nil { return given?.isEmpty == false ? given?.removeFirst() : nil }
            while ready.isEmpty, !isOver {
                if let bytes = await input.read() {
                    ready = splitter.split(bytes)
                } else {
                    isOver = true
                    ready = splitter.finish().map { [$0] } ?? []
                }
            }
            return ready.isEmpty ? nil : ready.removeFirst()
        }
    }
}
