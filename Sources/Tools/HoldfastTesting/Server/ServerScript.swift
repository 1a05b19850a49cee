public import Holdfast

/// The steps that a ``ScriptedServer`` performs on one connection.
///
/// ```swift
/// let script: ServerScript = [.expect("subscribe"), .send("101"), .ignorePings, .wait(.seconds(60))]
/// ```
/// After the last step the connection stays open, and pings and a close are still answered unless a step turned that off.
public struct ServerScript: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// The steps, in order.
    public var steps: [ServerStep]

    /// Creates a script from these steps.
    public init(_ steps: [ServerStep]) { self.steps = steps }

    /// Creates a script from these steps.
    public init(arrayLiteral steps: ServerStep...) { self.steps = steps }
}

/// One step of a ``ServerScript``: what a ``ScriptedServer`` waits for, sends, or does wrong.
///
/// If the first step of a script does not answer the opening handshake, the server accepts it first.
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
    /// What the step does, in words; errors contain it.
    public let description: String

    private init(_ action: Action, _ description: String) { (self.action, self.description) = (action, description) }

    /// Whether the step answers the request to open the connection.
    var opens: Bool {
        switch action {
        case .accept, .refuse, .neverAnswer: true
        default: false
        }
    }
}

// The opening handshake.
extension ServerStep {
    /// Accepts the connection; the server does this by default if no other step answers the handshake first.
    public static func accept(subprotocol: String? = nil, headers: HeaderFields = [:]) -> ServerStep {
        ServerStep(.accept(subprotocol: subprotocol, headers, isProven: true), "accept")
    }

    /// Accepts the connection with a `Sec-WebSocket-Accept` value for another key.
    public static let acceptWrongly = ServerStep(.accept(subprotocol: nil, [:], isProven: false), "accept with a wrong key")

    /// Refuses the connection with a status other than 101, and closes it.
    ///
    /// - Parameters:
    ///   - status: The status, 100 to 999.
    ///   - headers: Additional header fields.
    ///   - body: The body of the response, for people.
    ///   - retryAfter: The time that the client is told to wait, in whole seconds.
    public static func refuse(
        status: Int, headers: HeaderFields = [:], body: String = "", retryAfter: Duration? = nil
    ) -> ServerStep {
        var fields = headers
        if let retryAfter { fields.add("Retry-After", "\(retryAfter.components.seconds)") }
        fields.add("Content-Length", "\(body.utf8.count)")
        fields.add("Connection", "close")
        return ServerStep(.refuse(ResponseHead(status: status, headers: fields), body: Array(body.utf8)), "refuse with \(status)")
    }

    /// Reads the request and never answers it.
    public static let neverAnswer = ServerStep(.neverAnswer, "never answer")
}

// Messages.
extension ServerStep {
    /// Waits for the next message, which must be equal to this one.
    public static func expect(_ message: Message) -> ServerStep { ServerStep(.expect(message), "expect \(words(message))") }

    /// Waits for the next message, which must be this text.
    public static func expect(_ text: String) -> ServerStep { expect(.text(text)) }

    /// Waits for this many messages, whatever their content.
    public static func expectAny(_ count: Int = 1) -> ServerStep { ServerStep(.expectAny(count), "expect any \(count)") }

    /// Waits for a ping; skips messages before it.
    public static let expectPing = ServerStep(.expectPing, "expect a ping")

    /// Waits for the client's close frame, with this code if one is given; skips messages before it.
    public static func expectClose(_ code: CloseCode? = nil) -> ServerStep {
        ServerStep(.expectClose(code), "expect a close" + (code.map { " with \($0)" } ?? ""))
    }

    /// Sends the next messages back, as many as given.
    public static func echo(_ count: Int) -> ServerStep { ServerStep(.echo(count), "echo \(count)") }

    /// Sends a message.
    public static func send(_ message: Message) -> ServerStep {
        ServerStep(.send(ServerFrame.bytes(of: message)), "send \(words(message))")
    }

    /// Sends a text.
    public static func send(_ text: String) -> ServerStep { send(.text(text)) }

    /// Sends a frame that no server may send.
    public static func send(_ frame: ServerFrame) -> ServerStep { ServerStep(.send(frame.bytes), "send \(frame)") }

    /// Sends these bytes unchanged.
    public static func send(bytes: [UInt8]) -> ServerStep { ServerStep(.send(bytes), "send \(bytes.count) bytes as they are") }

    /// Sends a ping and waits for its pong.
    public static let ping = ServerStep(.ping, "ping")

    /// Returns the words for a message in an error.
    static func words(_ message: Message) -> String {
        switch message {
        case .text(let text): text.count > 60 ? "the text \"\(text.prefix(60))…\"" : "the text \"\(text)\""
        case .binary(let bytes): "\(bytes.count) binary bytes"
        }
    }
}

// Time, stalls and ends.
extension ServerStep {
    /// Waits this long, by the server's clock, or until the connection ends; pings are answered in the meantime.
    public static func wait(_ duration: Duration) -> ServerStep { ServerStep(.wait(duration), "wait \(duration)") }

    /// Stops reading from the connection, so that the TCP buffers fill up and the client has to wait.
    public static let stopReading = ServerStep(.read(false), "stop reading")

    /// Reads from the connection again.
    public static let startReading = ServerStep(.read(true), "start reading")

    /// Answers no pings from now on.
    public static let ignorePings = ServerStep(.ignorePings, "ignore pings")

    /// Does not answer a close frame from now on.
    public static let ignoreClose = ServerStep(.ignoreClose, "ignore a close")

    /// Sends a close frame, waits for the client's answer, and closes the connection.
    public static func close(_ code: CloseCode = .normal, reason: String = "") -> ServerStep {
        ServerStep(.close(CloseFrame(code, reason: reason)), "close with \(code)")
    }

    /// Closes the connection without a close frame, after the data sent so far has left.
    public static func drop(_ ending: LinkEnding = .fin) -> ServerStep { ServerStep(.drop(ending), "drop (\(ending))") }
}

/// A frame that no server may send, for ``ServerStep/send(_:)-(ServerFrame)``.
public struct ServerFrame: Hashable, Sendable, CustomStringConvertible {
    /// The bytes of the frame on the wire.
    public let bytes: [UInt8]
    /// What is wrong with the frame.
    public let description: String

    private init(_ bytes: [UInt8], _ description: String) { (self.bytes, self.description) = (bytes, description) }

    /// Returns a message with a mask, which only clients may send (RFC 6455 §5.1).
    public static func masked(_ message: Message) -> ServerFrame {
        ServerFrame(bytes(of: message, mask: MaskKey(bits: 0x1234_5678)), "a masked message")
    }

    /// A text message that is not valid UTF-8 (RFC 6455 §8.1).
    public static let invalidText = ServerFrame(frame(.text, [0x68, 0xC3, 0x28]), "a text that is not UTF-8")

    /// A frame with a reserved bit that no extension uses (RFC 6455 §5.2).
    public static let reservedBit = ServerFrame([0x81 | 0x20, 0], "a reserved bit")

    /// A frame with an undefined opcode (RFC 6455 §5.2).
    public static let unknownOpcode = ServerFrame([0x80 | 0x3, 0], "an unknown opcode")

    /// A continuation frame without a message to continue (RFC 6455 §5.4).
    public static let strayContinuation = ServerFrame(frame(.continuation, [0x68]), "a stray continuation")

    /// A fragmented ping (RFC 6455 §5.5).
    public static let fragmentedPing = ServerFrame([0x09, 0], "a fragmented ping")

    /// A ping of 126 bytes (RFC 6455 §5.5).
    public static let longPing = ServerFrame(frame(.ping, [UInt8](repeating: 0, count: 126)), "a ping of 126 bytes")

    /// A close frame with a code that must not be sent (RFC 6455 §7.4.1).
    public static let forbiddenClose = ServerFrame(frame(.close, [0x03, 0xED]), "a close with 1005")

    /// Returns the header of a binary message of this size without its bytes, for sizes beyond a limit.
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

/// An event that a scripted server receives from a client.
enum ScriptedInput: Sendable {
    case request(RequestHead)
    case message(Message)
    case ping([UInt8])
    case pong
    case close(CloseFrame)
    /// The connection is over or unusable; the reason in words.
    case end(String)
    /// No event for too long.
    case silence(Duration)

    /// The memory that the event takes while it waits, in bytes.
    var byteCount: Int {
        switch self {
        case .message(let message): message.byteCount + 64
        default: 64
        }
    }

    /// The event in words, for an error message.
    var words: String {
        switch self {
        case .request: "a request"
        case .message(let message): ServerStep.words(message)
        case .ping: "a ping"
        case .pong: "a pong"
        case .close(let frame): "a close with \(frame.code?.description ?? "no code")"
        case .end(let reason): reason
        case .silence(let patience): "nothing within \(patience)"
        }
    }
}

/// A mismatch between a client's behaviour and a ``ServerScript``.
public struct ScriptMismatch: Error, Hashable, Sendable, CustomStringConvertible {
    /// The number of the connection, from 1.
    public let connection: Int
    /// The number of the step, from 1; 0 if the script did not begin in time.
    public let step: Int
    /// What the script expected, in words.
    public let expected: String
    /// What happened instead, in words.
    public let found: String

    /// The mismatch as a message, such as `connection 1, step 3: expected the text "hi", found the end of the connection`.
    public var description: String { "connection \(connection), step \(step): expected \(expected), found \(found)" }
}
