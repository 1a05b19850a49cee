import ArgumentParser
import CodecCore
import Holdfast
import HoldfastTerminal
import Testing

@testable import HoldfastSocketIO
@testable import HoldfastTool

@Suite struct SocketIOCommandTests {
    private static let url = "http://127.0.0.1:1"

    @Test(arguments: [
        ("chat \"hi\" 3", "chat", false, [Value.text("hi"), 3]), ("  chat   word  ", "chat", false, ["word"]), ("chat", "chat", false, []),
        ("ask? {\"a\": [1, \" }\"]} null", "ask", true, [["a": [1, " }"]] as Value, .null]),
        ("\"two words\" \"a\\\" b\"", "two words", false, ["a\" b"]),
        ("\"why?\" 1", "why?", false, [1]), ("?", "?", false, []), ("chat [1, 2", "chat", false, ["[1, 2"]),
        ("chat ]} 1", "chat", false, ["]}", 1]),
    ])
    func `a line has the name of an event, and arguments`(_ line: String, _ name: String, _ wantsAnswer: Bool, _ arguments: [Value]) throws
    {
        let event = try #require(SocketIOLine(line))
        #expect(event.name == name && event.wantsAnswer == wantsAnswer && event.arguments == arguments)
    }

    @Test func `a line without a name is no event`() { #expect(SocketIOLine("") == nil && SocketIOLine("  \t ") == nil) }

    @Test(arguments: ["chat", "two words", "a\"b", "[x]", ""]) func `what is printed can be typed`(_ name: String) throws {
        let line = SocketIOLine.text(name, ["hi", 3, ["a": .null]])
        #expect(try #require(SocketIOLine(line)) == SocketIOLine(name: name, wantsAnswer: false, arguments: ["hi", 3, ["a": .null]]))
    }

    @Test(arguments: [
        (SocketIOFailure.Code.refused, Outcome.refused), (.outcomeUnknown, .lost), (.disconnected, .lost), (.cancelled, .interrupted),
        (.unencodable, .usage), (.tooLarge, .failed), (.closed, .lost), (.timedOut, .unreachable),
    ])
    func `the exit status says what kind of failure it was`(code: SocketIOFailure.Code, outcome: Outcome) {
        #expect(Outcome(SocketIOFailure(code)) == outcome)
        #expect(Outcome(SocketIOFailure(.timedOut, mayHaveArrived: true)) == .unanswered)
    }

    @Test func `the payload comes from the environment unless it is given`() throws {
        let environment = [SocketIOOptionGroup.payloadVariable: #"{"token":"e"}"#]
        func payload(_ arguments: String...) throws -> Value? {
            try SocketIOOnCommand.parse([Self.url] + arguments).server.payload(environment: environment)
        }
        #expect(try payload() == ["token": "e"])
        #expect(try payload("--auth", #"{"token":"o"}"#) == ["token": "o"])
        #expect(ShellRun.withoutSecrets(environment).isEmpty)
    }

    @Test(arguments: [
        ([], SocketIOTransport.webSocket), (["--polling"], .polling), (["--upgrade"], .pollingThenWebSocket), (["--websocket"], .webSocket),
    ])
    func `the transport is chosen by an option`(_ arguments: [String], _ transport: SocketIOTransport) throws {
        #expect(try SocketIOConnectCommand.parse([Self.url] + arguments).server.options.transport == transport)
    }

    @Test(arguments: [["--count", "0"], ["--patience", "-1"], ["--polling", "--upgrade"], ["--transport", "x"]])
    func `arguments that cannot work are refused before anything is sent`(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try SocketIOOnCommand.parse([Self.url] + arguments) }
    }

    @Test(arguments: ["ftp://127.0.0.1", "127.0.0.1", "http://", "http://user:secret@127.0.0.1/"])
    func `a bad URL is refused`(_ url: String) {
        #expect(throws: (any Error).self) { try SocketIOEmitCommand.parse([url, "x"]) }
        #expect(throws: (any Error).self) { try SocketIOEmitCommand.parse([Self.url, "x", "--retries", "-1"]) }
    }

    @Test func `the connection of the command line keeps what the protocol needs`() {
        var options = WebSocketOptions()
        (options.connection.subprotocols, options.connection.requiresSubprotocol) = (["graphql-transport-ws"], true)
        options.connection.redirectsStayInOrigin = true
        var given = WebSocketConfiguration()
        (given.headers["X-A"], given.redirects) = ("b", RedirectPolicy())
        options.use(given, trace: nil)
        #expect(options.connection.subprotocols == ["graphql-transport-ws"] && options.connection.requiresSubprotocol)
        #expect(options.connection.redirectsStayInOrigin && options.connection.headers["X-A"] == "b" && !options.logsPayloads)
        options.use(given, trace: .plain)
        #expect(options.logsPayloads)
    }
}
