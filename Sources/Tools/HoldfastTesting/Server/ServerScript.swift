public import Holdfast

/// What a ``ScriptedServer`` does with one connection, step by step.
///
/// ```swift
/// let script: ServerScript = [.expect("subscribe"), .send("101"), .ignorePings, .wait(.seconds(60))]
/// ```
/// After the last step the connection stays open, and pings and a close are still answered unless a step said otherwise.
public struct ServerScript: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// The steps, in order.
    public var steps: [ServerStep]

    /// A script of these steps.
    public init(_ steps: [ServerStep]) { self.steps = steps }

    /// A script of these steps.
    public init(arrayLiteral steps: ServerStep...) { self.steps = steps }
}

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

/// A frame that no server may send, for ``ServerStep/send(_:)-(ServerFrame)``.
public struct ServerFrame: Hashable, Sendable, CustomStringConvertible {
    /// What goes over the wire.
    public let bytes: [UInt8]
    /// What is wrong with it.
    public let description: String

    private init(_ bytes: [UInt8], _ description: String) { (self.bytes, self.description) = (bytes, description) }

    /// A message with a mask, as only clients may send (RFC 6455 §5.1).
    public static func masked(_ message: Message) -> ServerFrame {
        ServerFrame(bytes(of: message, mask: MaskKey(bits: 0x1234_5678)), "a masked message")
    }

    /// A text message that is not UTF-8 (RFC 6455 §8.1).
    public static let invalidText = ServerFrame(frame(.text, [0x68, 0xC3, 0x28]), "a text that is not UTF-8")

    /// A reserved bit that no extension uses (RFC 6455 §5.2).
    public static let reservedBit = ServerFrame([0x81 | 0x20, 0], "a reserved bit")

    /// An opcode without a meaning (RFC 6455 §5.2).
    public static let unknownOpcode = ServerFrame([0x80 | 0x3, 0], "an unknown opcode")

    /// More of a message that nobody began (RFC 6455 §5.4).
    public static let strayContinuation = ServerFrame(frame(.continuation, [0x68]), "a stray continuation")

    /// A ping in pieces (RFC 6455 §5.5).
    public static let fragmentedPing = ServerFrame([0x09, 0], "a fragmented ping")

    /// A ping of 126 bytes (RFC 6455 §5.5).
    public static let longPing = ServerFrame(frame(.ping, [UInt8](repeating: 0, count: 126)), "a ping of 126 bytes")

    /// A close frame with a code that must not travel (RFC 6455 §7.4.1).
    public static let forbiddenClose = ServerFrame(frame(.close, [0x03, 0xED]), "a close with 1005")

    /// The head of a binary message of this size, and none of its bytes; for one that is beyond a limit.
    public static func announcing(_ byteCount: Int) -> ServerFrame {
        ServerFrame(head(FrameHeader(.binary, payloadLength: max(0, byteCount))), "the head of a message of \(byteCount) bytes")
    }

    static func bytes(of message: Message, mask: MaskKey? = nil) -> [UInt8] {
        switch message {
        case .text(let text): frame(.text, Array(text.utf8), mask: mask)
        case .binary(let bytes): frame(.binary, bytes, mask: mask)
        }
    }

    static func frame(_ opcode: Opcode, _ payload: [UInt8], mask: MaskKey? = nil) -> [UInt8] {
        let header = FrameHeader(opcode, mask: mask, payloadLength: payload.count)
        var bytes = head(header) + payload
        bytes.withUnsafeMutableBytes { mask?.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[header.length...])) }
        return bytes
    }

    private static func head(_ header: FrameHeader) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: header.length)
        bytes.withUnsafeMutableBytes { header.write(to: $0) }
        return bytes
    }
}
