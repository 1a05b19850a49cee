public import Holdfast

/// One step of a ``ServerScript``: what a ``ScriptedServer`` waits for, says, or does wrong.
///
/// A script whose first step says nothing about the opening handshake accepts it first.
public struct ServerStep: Hashable, Sendable, CustomStringConvertible {
    enum Action: Hashable {
        case accept(subprotocol: String?, HeaderFields, isProven: Bool)
        case refuse(ResponseHead, body: [UInt8])
        case neverAnswer
        case expect(Message), expectAny(Int), expectPing, expectClose(CloseCode?)
        case echo(Int)
        case send([UInt8])
        case ping
        case wait(Duration)
        case read(Bool), ignorePings, ignoreClose
        case close(CloseFrame), drop(LinkEnding)
    }
    let action: Action
    /// What the step does, in words; errors name it.
    public let description: String

    private init(_ action: Action, _ description: String) { (self.action, self.description) = (action, description) }

    /// Whether it answers the request to open the connection.
    var opens: Bool {
        switch action {
        case .accept, .refuse, .neverAnswer: true
        default: false
        }
    }
}

// The opening handshake.
extension ServerStep {
    /// Accepts the connection, in the only step that may come first without being told.
    public static func accept(subprotocol: String? = nil, headers: HeaderFields = [:]) -> ServerStep {
        ServerStep(.accept(subprotocol: subprotocol, headers, isProven: true), "accept")
    }

    /// Accepts the connection with a `Sec-WebSocket-Accept` that belongs to another key.
    public static let acceptWrongly = ServerStep(.accept(subprotocol: nil, [:], isProven: false), "accept with a wrong key")

    /// Refuses the connection with a status other than 101, and hangs up.
    ///
    /// - Parameters:
    ///   - status: The status, 100 to 999.
    ///   - headers: More fields to send.
    ///   - body: What the answer says to people.
    ///   - retryAfter: What the client is told to wait, in whole seconds.
    public static func refuse(
        status: Int, headers: HeaderFields = [:], body: String = "", retryAfter: Duration? = nil
    ) -> ServerStep {
        var fields = headers
        if let retryAfter { fields.add("Retry-After", "\(retryAfter.components.seconds)") }
        fields.add("Content-Length", "\(body.utf8.count)")
        fields.add("Connection", "close")
        return ServerStep(.refuse(ResponseHead(status: status, headers: fields), body: Array(body.utf8)), "refuse with \(status)")
    }

    /// Takes the request and never answers it.
    public static let neverAnswer = ServerStep(.neverAnswer, "never answer")
}

// Messages.
extension ServerStep {
    /// Waits for the next message, which has to be this one.
    public static func expect(_ message: Message) -> ServerStep { ServerStep(.expect(message), "expect \(words(message))") }

    /// Waits for the next message, which has to be this text.
    public static func expect(_ text: String) -> ServerStep { expect(.text(text)) }

    /// Waits for so many messages, whatever they say.
    public static func expectAny(_ count: Int = 1) -> ServerStep { ServerStep(.expectAny(count), "expect any \(count)") }

    /// Waits for a ping; messages before it are passed over.
    public static let expectPing = ServerStep(.expectPing, "expect a ping")

    /// Waits for the client's close frame, with this code if one is given; messages before it are passed over.
    public static func expectClose(_ code: CloseCode? = nil) -> ServerStep {
        ServerStep(.expectClose(code), "expect a close" + (code.map { " with \($0)" } ?? ""))
    }

    /// Sends the next messages back, so many of them.
    public static func echo(_ count: Int) -> ServerStep { ServerStep(.echo(count), "echo \(count)") }

    /// Sends a message.
    public static func send(_ message: Message) -> ServerStep {
        ServerStep(.send(ServerFrame.bytes(of: message)), "send \(words(message))")
    }

    /// Sends a text.
    public static func send(_ text: String) -> ServerStep { send(.text(text)) }

    /// Sends what no server may send.
    public static func send(_ frame: ServerFrame) -> ServerStep { ServerStep(.send(frame.bytes), "send \(frame)") }

    /// Sends these bytes as they are.
    public static func send(bytes: [UInt8]) -> ServerStep { ServerStep(.send(bytes), "send \(bytes.count) bytes as they are") }

    /// Sends a ping and waits for its pong.
    public static let ping = ServerStep(.ping, "ping")

    /// How an error speaks of a message.
    static func words(_ message: Message) -> String {
        switch message {
        case .text(let text): text.count > 60 ? "the text \"\(text.prefix(60))…\"" : "the text \"\(text)\""
        case .binary(let bytes): "\(bytes.count) binary bytes"
        }
    }
}

// Time, stalls and ends.
extension ServerStep {
    /// Waits so long, by the server's clock, or until the connection ends; pings are answered meanwhile.
    public static func wait(_ duration: Duration) -> ServerStep { ServerStep(.wait(duration), "wait \(duration)") }

    /// Takes nothing more from the connection, so that TCP fills up and the client has to wait.
    public static let stopReading = ServerStep(.read(false), "stop reading")

    /// Takes again what comes.
    public static let startReading = ServerStep(.read(true), "start reading")

    /// Answers no ping from now on.
    public static let ignorePings = ServerStep(.ignorePings, "ignore pings")

    /// Does not answer a close frame from now on.
    public static let ignoreClose = ServerStep(.ignoreClose, "ignore a close")

    /// Closes the connection, waits for the client's answer, and hangs up.
    public static func close(_ code: CloseCode = .normal, reason: String = "") -> ServerStep {
        ServerStep(.close(CloseFrame(code, reason: reason)), "close with \(code)")
    }

    /// Hangs up without a word, once what was sent has left.
    public static func drop(_ ending: LinkEnding = .fin) -> ServerStep { ServerStep(.drop(ending), "drop (\(ending))") }
}
