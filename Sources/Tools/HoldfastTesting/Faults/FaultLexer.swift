/// Cuts the text of a script into steps of words, each with its place.
struct FaultLexer {
    struct Word: Hashable {
        let text: String
        let line: Int
        let column: Int
    }
    /// The words of a step, and the place where it ends.
    struct Step {
        var words: [Word] = []
        var end: Word
    }

    /// The longest part of a word that an error quotes.
    private static let quoted = 40

    /// The steps of a text, empty ones left out.
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

    /// What of a word an error shows.
    static func quote(_ word: Word) -> String {
        word.text.count > quoted ? word.text.prefix(quoted) + "…" : word.text
    }
}
