/// What an app is told from anywhere, in its order.
struct Diary {
    private var lines: AsyncStream<String>.Iterator
    let line: AsyncStream<String>.Continuation

    init() {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        (self.lines, self.line) = (lines.makeAsyncIterator(), line)
    }

    /// Waits for the next line.
    mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> String? { await lines.next(isolation: actor) }
}
