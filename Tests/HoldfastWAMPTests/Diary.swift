/// Collects lines from any thread, in order.
struct Diary {
    private let lines: AsyncStream<String>
    let line: AsyncStream<String>.Continuation

    init() { (lines, line) = AsyncStream.makeStream(of: String.self) }

    /// Waits for the next line.
    func next() async -> String? {
        for await line in lines { return line }
        return nil
    }
}
