public import CodecCore
public import Foundation
public import SessionCore
public import WebSocketCore

// Method names from other libraries. They do not compile: the compiler message names the right method.

extension WebSocket {
    // The compiler never chooses an unavailable overload if another one fits, so text and bytes never reach this method.
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "send(_:) takes text and bytes; to encode a value through the codec, write send(value:)")
    public func send<Value: Encodable>(_ value: Value, lane: Lane = .normal, timeout: Duration? = nil) async throws {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "to send a literal as JSON, write send(json:)")
    public func send(_ literal: CodecCore.Value, lane: Lane = .normal, timeout: Duration? = nil) async throws {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "request(_:) takes text and bytes; to encode a value, write request(value:matching:timeout:)")
    public func request<Value: Encodable, Answer: Sendable>(
        _ value: Value, matching: @escaping @Sendable (Message) -> Answer?, timeout: Duration = .seconds(30)
    ) async throws -> Answer { fatalError() }

    // Starscream.
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "send(_:)", message: "and await it")
    public func write(string: String) {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "send(_:)", message: "and await it")
    public func write(data: Data) {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "ping(timeout:)")
    public func write(ping: Data) {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "disconnect(code:reason:)")
    public func disconnect(closeCode: UInt16) {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "loop over `events`, or use WebSocketDelegateAdapter")
    public var onEvent: ((WebSocketEvent) -> Void)? {
        get { nil }
        set {}
    }
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "use WebSocketDelegateAdapter, or loop over `events`")
    public var delegate: (any WebSocketDelegate)? {
        get { nil }
        set {}
    }

    // URLSessionWebSocketTask.
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "ping(timeout:)")
    public func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "loop over `messages`: for try await message in socket.messages")
    public func receive() async throws -> Message { fatalError() }
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "a socket connects when it is made; after disconnect(), call connect()")
    public func resume() {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "close(code:reason:)")
    public func cancel() {}

    // SocketRocket and the WebSocket of browsers.
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "a socket connects when it is made; after disconnect(), call connect()")
    public func open() {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "send(_:)", message: "and await it")
    public func send(string: String) {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "send(_:)", message: "and await it")
    public func send(data: Data) {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "ping(timeout:)")
    public func sendPing() {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "state")
    public var readyState: WebSocketState { state }
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "reconnectNow()")
    public func reconnect() {}
}

extension WebSocketConnection {
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "send(_:) takes text and bytes; to encode a value, send(codec.encode(value)), or use WebSocket")
    public func send<Value: Encodable>(_ value: Value) async throws {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "loop over `messages`: for try await message in connection.messages")
    public func receive() async throws -> Message { fatalError() }
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "ping(timeout:)")
    public func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {}
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "close(code:reason:)")
    public func cancel() {}
}

extension Message {
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "text(_:)")
    public static func string(_ string: String) -> Message { .text(string) }
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "binary(_:)")
    public static func data(_ data: Data) -> Message { .binary(data) }
}

extension ReconnectPolicy {
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "maximumAttempts")
    public var maxAttempts: Int {
        get { maximumAttempts }
        set {}
    }
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "maximumAttempts")
    public var maxRetries: Int {
        get { maximumAttempts }
        set {}
    }
}

extension WebSocketOptions {
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "it is reconnect.maximumAttempts")
    public var maxAttempts: Int {
        get { reconnect.maximumAttempts }
        set {}
    }
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, message: "it is connection.limits.message")
    public var maximumMessageSize: Int {
        get { connection.limits.message }
        set {}
    }
}

extension Closure {
    /// The name in another library; the compiler message says what to use here.
    @available(*, unavailable, renamed: "code")
    public var closeCode: CloseCode? { code }
}
