import Testing

@testable import HoldfastTool

@Suite struct LineEditorTests {
    @Test func `typed text stands after the prompt with the cursor at its end`() {
        var session = EditorSession()
        session.type("hello")
        #expect(session.screen.lines == ["> hello"])
        #expect(session.screen.column == 7)
    }

    @Test func `an incoming line goes above and the edited line survives`() {
        var session = EditorSession()
        session.type("hello\u{1B}[D\u{1B}[D")
        session.apply(.incoming("< news"))
        #expect(session.screen.lines == ["< news", "> hello"])
        #expect(session.screen.column == 5)
        session.type("X\r")
        #expect(session.submitted == ["helXlo"])
    }

    @Test func `an incoming message of several lines or wider than the screen leaves the prompt whole`() {
        var session = EditorSession(columns: 10)
        session.type("abc")
        session.apply(.incoming("< 0123456789\n  second"))
        #expect(session.screen.lines == ["< 01234567", "89", "  second", "> abc"])
        #expect(session.screen.column == 5)
    }

    @Test func `nothing is drawn while the prompt is hidden`() {
        var session = EditorSession()
        session.type("abc")
        session.apply(.hide)
        session.apply(.incoming("< news"))
        session.type("d")
        #expect(session.screen.lines == ["< news"])
        session.apply(.show)
        #expect(session.screen.lines == ["< news", "> abcd"])
    }

    @Test func `enter submits and empties the line, and an empty line sends nothing`() {
        var session = EditorSession()
        session.type("one\r\rtwo\r")
        #expect(session.submitted == ["one", "two"])
        #expect(session.screen.lines == [">"])
    }

    @Test(arguments: [
        ("abc\u{01}X", "Xabc"), ("abc\u{01}\u{05}X", "abcX"), ("abc\u{02}\u{02}X", "aXbc"), ("abc\u{01}\u{06}X", "aXbc"),
        ("abc\u{1B}[HX", "Xabc"), ("abc\u{1B}[1~\u{1B}[4~X", "abcX"), ("abc\u{1B}OD\u{1B}OCX", "abcX"),
        ("abc\u{7F}", "ab"), ("abc\u{08}", "ab"), ("abc\u{01}\u{1B}[3~", "bc"), ("abc\u{01}\u{04}", "bc"),
        ("abc def\u{0B}X", "abc defX"), ("abc\u{02}\u{0B}", "ab"), ("abc\u{02}\u{15}", "c"),
        ("one two\u{17}", "one "), ("one two  \u{17}", "one "), ("one\u{17}", ""), ("one two\u{17}\u{19}\u{19}", "one twotwo"),
        ("one two\u{1B}bX", "one Xtwo"), ("one two\u{1B}b\u{1B}bX", "Xone two"), ("one two\u{01}\u{1B}fX", "oneX two"),
        ("one two\u{1B}[1;5DX", "one Xtwo"), ("one two\u{01}\u{1B}[1;3CX", "oneX two"), ("one two\u{01}\u{1B}d", " two"),
        ("one two\u{1B}\u{7F}", "one "), ("abc\u{03}", ""), ("a\tb", "a\tb"),
        ("\u{1B}[D\u{1B}[C\u{7F}\u{1B}[3~\u{0B}\u{15}\u{17}\u{19}\u{1B}d\u{1B}b\u{1B}fa", "a"),
    ])
    func `keys edit the line as shells do`(keys: String, result: String) {
        var session = EditorSession()
        session.type(keys)
        #expect(session.editor.line.text == result)
    }

    @Test func `history goes up and down and keeps the draft`() {
        var session = EditorSession()
        session.type("one\rtwo\rtwo\rdra")
        session.type("\u{1B}[A")
        #expect(session.editor.line.text == "two")
        session.type("\u{1B}[A\u{1B}[A\u{1B}[A")
        #expect(session.editor.line.text == "one")
        session.type("\u{1B}[B\u{1B}[B\u{1B}[B")
        #expect(session.editor.line.text == "dra")
        #expect(session.screen.lines == ["> dra"])
    }

    @Test func `control keys on an empty line leave, and stop a job`() {
        var session = EditorSession()
        session.type("x\u{04}\u{03}")
        #expect(session.others.isEmpty)
        session.type("\u{04}\u{03}\u{1A}")
        #expect(session.others == [.endOfInput, .interrupt, .suspend])
    }

    @Test func `clearing the screen keeps the line`() {
        var session = EditorSession()
        session.apply(.incoming("< news"))
        session.type("abc\u{02}\u{0C}")
        #expect(session.screen.lines == ["> abc"])
        #expect(session.screen.column == 4)
    }

    @Test func `a long line scrolls sideways on its one row`() {
        var session = EditorSession(columns: 10)
        session.type("0123456789")
        #expect(session.screen.lines == ["> 3456789"])
        session.type("\u{01}")
        #expect(session.screen.lines == ["> 0123456"])
        #expect(session.screen.column == 2)
        session.type("\u{05}\r")
        #expect(session.submitted == ["0123456789"])
    }

    @Test func `wide characters take two columns and joined characters move as one`() {
        var session = EditorSession()
        session.type("日本👩‍👩‍👧e\u{301}")
        #expect(session.screen.column == 2 + 4 + 2 + 1)
        session.type("\u{7F}\u{7F}")
        #expect(session.editor.line.text == "日本")
        session.type("\u{1B}[Dx")
        #expect(session.screen.lines == ["> 日x本"])
        #expect(session.screen.column == 5)
    }

    @Test func `a wide character is never cut in half at the border`() {
        var session = EditorSession(columns: 8)
        session.type("日本語文")
        #expect(session.screen.lines == ["> 語文"])
        #expect(session.screen.rows.count == 1)
    }

    @Test func `a paste of several lines is one message shown on one row`() {
        var session = EditorSession()
        session.type("\u{1B}[200~{\n \"a\": 1\r\n}\u{1B}[201~")
        #expect(session.submitted.isEmpty)
        #expect(session.screen.lines == ["> {␊ \"a\": 1␊}"])
        session.type("\r")
        #expect(session.submitted == ["{\n \"a\": 1\r\n}"])
    }

    @Test func `a pasted escape sequence is shown, not obeyed`() {
        var session = EditorSession()
        session.type("\u{1B}[200~a\u{1B}[2Jb\u{202E}\u{1B}[201~")
        #expect(session.screen.lines == ["> a␛[2Jb\u{FFFD}"])
        #expect(session.editor.line.text == "a\u{1B}[2Jb\u{202E}")
    }

    @Test func `a narrower window shows less of the line and loses none of it`() {
        var session = EditorSession(columns: 20)
        session.type("0123456789")
        session.apply(.resized(columns: 8))
        #expect(session.screen.lines == ["> 56789"])
        session.apply(.resized(columns: 0))
        session.apply(.resized(columns: 20))
        #expect(session.screen.lines == ["> 0123456789"])
    }

    @Test(arguments: 2...6) func `no width is too small`(columns: Int) {
        var session = EditorSession(columns: columns)
        session.type("日ab\u{1B}[D\u{1B}[D\u{1B}[Dc\r")
        #expect(session.submitted == ["c日ab"])
    }
}
