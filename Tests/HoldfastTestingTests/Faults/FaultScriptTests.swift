import HoldfastTesting
import Testing

@Suite struct FaultScriptTests {
    private static let steps: [(String, FaultStep)] = [
        ("cut", FaultStep(.cut(.fin))),
        ("cut fin", FaultStep(.cut(.fin))),
        ("after 2s cut rst", FaultStep(.cut(.rst), start: .after(.seconds(2) ... .seconds(2)))),
        ("every 5s..9s cut", FaultStep(.cut(.fin), every: .seconds(5) ... .seconds(9))),
        ("at 1m every 250ms cut", FaultStep(.cut(.fin), start: .at(.seconds(60) ... .seconds(60)), every: ms(250)...ms(250))),
        ("cut rst after 1KiB..64KiB", FaultStep(.cutAfter(1024...65_536, .rst))),
        ("cut after 2KB for 3s", FaultStep(.cutAfter(2000...2000, .fin), for: .seconds(3) ... .seconds(3))),
        ("at 20s stall 8s", FaultStep(.stall, start: .at(.seconds(20) ... .seconds(20)), for: .seconds(8) ... .seconds(8))),
        ("stall for 1h", FaultStep(.stall, for: .seconds(3600) ... .seconds(3600))),
        ("stall", FaultStep(.stall)),
        ("swallow up 1.5s", FaultStep(.swallow(.up), for: ms(1500)...ms(1500))),
        ("swallow", FaultStep(.swallow(.both))),
        ("refuse 3s", FaultStep(.refuse, for: .seconds(3) ... .seconds(3))),
        ("close", FaultStep(.close)),
        ("throttle 16KiB/s for 10s", FaultStep(.throttle(16_384, .both), for: .seconds(10) ... .seconds(10))),
        ("throttle 0.5MiB/s down", FaultStep(.throttle(524_288, .down))),
        ("delay 20ms..80ms", FaultStep(.delay(ms(20)...ms(80)))),
        ("delay 500us", FaultStep(.delay(.microseconds(500) ... .microseconds(500)))),
        ("HEAL", FaultStep(.heal)),
    ]

    private static func ms(_ count: Int) -> Duration { .milliseconds(count) }

    @Test(arguments: steps) func `a step is parsed`(text: String, step: FaultStep) throws {
        #expect(try FaultScript(text).steps == [step])
    }

    @Test func `semicolons and line ends separate steps, and comments are ignored`() throws {
        let script = try FaultScript(
            """
            # a bad day
            cut;; stall 1s   # ; refuse

            delay 5ms;
            """)
        #expect(script.description == "cut; stall for 1s; delay 5ms")
    }

    @Test(arguments: steps.map(\.1)) func `the description of a step can be parsed again`(step: FaultStep) throws {
        #expect(try FaultScript(step.description).steps == [step])
    }

    @Test(arguments: [
        ("", 1, 1, "a fault", ""),
        ("\n  sever", 2, 3, "at, after, every or a fault", "sever"),
        ("cut; at", 1, 8, "a time", ""),
        ("at soon cut", 1, 4, "a time", "soon"),
        ("at 5 cut", 1, 4, "a time", "5"),
        ("at -5s cut", 1, 4, "a time", "-5s"),
        ("at 9s..5s cut", 1, 4, "a range from a smaller to a greater value", "9s..5s"),
        ("at 5s..", 1, 4, "a time", "5s.."),
        ("at 367000h cut", 1, 4, "at most 366 days", "367000h"),
        ("at 99999999999999999999h cut", 1, 4, "at most 366 days", "99999999999999999999h"),
        ("every 0s cut", 1, 7, "an interval of 1ms or more", "0s"),
        ("every 1s", 1, 9, "a fault", ""),
        ("every 1s every 2s cut", 1, 10, "a fault", "every"),
        ("cut it", 1, 5, "the end of the step", "it"),
        ("cut for 5s", 1, 5, "the end of the step", "for"),
        ("cut after 5s", 1, 11, "a number of bytes", "5s"),
        ("cut after 0B", 1, 11, "a number of bytes", "0B"),
        ("stall forever", 1, 7, "for, a time or the end of the step", "forever"),
        ("stall 5s 6s", 1, 10, "the end of the step", "6s"),
        ("swallow sideways", 1, 9, "a time", "sideways"),
        ("throttle 16KiB", 1, 10, "a rate", "16KiB"),
        ("throttle 0B/s", 1, 10, "a rate", "0B/s"),
        ("throttle 11GiB/s", 1, 10, "a rate", "11GiB/s"),
        ("throttle 1KiB/s 5s", 1, 17, "for or the end of the step", "5s"),
        ("delay", 1, 6, "a time", ""),
        ("delay 1s 5s", 1, 10, "for or the end of the step", "5s"),
        ("delay 1٣ms", 1, 7, "a time", "1٣ms"),
    ]) func `a syntax error reports its place and what was expected`(
        text: String, line: Int, column: Int, expected: String, found: String
    ) throws {
        let error = try #require(throws: FaultScriptError.self) { try FaultScript(text) }
        #expect((error.line, error.column, error.found) == (line, column, found))
        #expect(error.expected.contains(expected), "\(error)")
        #expect(error.description.hasPrefix("line \(line), column \(column): expected "))
    }

    @Test func `an error quotes only the start of a long word, and a script of more than 1000 steps is refused`() throws {
        let word = try #require(throws: FaultScriptError.self) { try FaultScript(String(repeating: "x", count: 1000)) }
        #expect(word.found.count == 41)
        #expect(try FaultScript(String(repeating: "cut;", count: 1000)).steps.count == 1000)
        let steps = try #require(throws: FaultScriptError.self) { try FaultScript(String(repeating: "cut;", count: 1001)) }
        #expect((steps.column, steps.expected) == (4001, "at most 1000 steps"))
    }

    /// Parses texts that are nearly scripts.
    ///
    /// The parser either reads a text or refuses it with the place of the error. The description of a parsed script can be parsed again.
    @Test func `random text does not crash the parser`() throws {
        var random = SeededGenerator(seed: 20)
        let pieces =
            [
                "at", "after", "every", "for", "up", "down", "rst", "..", ";", "\n", "#", " ", "B/s", "1e9s", "0.1ms", "\u{0}", "é", "∞",
                "\r\n",
            ]
            + Self.steps.map(\.0)
        var readCount = 0
        for _ in 0..<5000 {
            var text = Array(
                (0..<Int.random(in: 1...4, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
                    .joined(separator: Bool.random(using: &random) ? " " : ";"))
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let index = Int.random(in: 0..<text.count, using: &random)
                if Bool.random(using: &random) {
                    text.remove(at: index)
                } else {
                    text[index] = "0123456789.smhKiB/; \n".randomElement(using: &random) ?? "x"
                }
                if text.isEmpty { text = ["x"] }
            }
            do throws(FaultScriptError) {
                let script = try FaultScript(String(text))
                readCount += 1
                // The description omits times below a microsecond.
                let again = try FaultScript(script.description)
                #expect(try FaultScript(again.description) == again)
                var last = Duration.zero
                for planned in FaultPlan(script, seed: 1).prefix(20) {
                    #expect(planned.time >= last)
                    last = planned.time
                }
            } catch {
                let lines = String(text).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
                #expect(lines.indices.contains(error.line - 1), "\(error)")
                #expect(1...(lines[error.line - 1].count + 1) ~= error.column, "\(error)")
            }
        }
        #expect((100...4900).contains(readCount), "some texts are scripts and some are not")
    }
}
