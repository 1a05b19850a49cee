/// A command line: words, and options with or without a value.
struct Arguments {
    private static let flags: Set = ["--no-compression", "--lines", "--http2"]

    private(set) var words: [String] = []
    private(set) var options: [String: String] = [:]

    init(_ arguments: some Sequence<String>) {
        var rest = arguments.makeIterator()
        while let argument = rest.next() {
            if Self.flags.contains(argument) {
                options[argument] = ""
            } else if argument.hasPrefix("--") {
                options[argument] = rest.next()
            } else {
                words.append(argument)
            }
        }
    }

    /// The value of an option that is a whole number, at least 1.
    func number(_ option: String) -> Int? { options[option].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } }
}
