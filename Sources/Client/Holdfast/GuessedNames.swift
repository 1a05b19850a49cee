public import CodecCore
public import Foundation
public import SessionCore
public import WebSocketCore

// Names that people bring along from other libraries. None of them compiles: the compiler says what it is called here.

extension WebSocket {
    // Of two that fit, one that is unavailable is never chosen: so text and bytes never come here.
    /// Not what it is called here.
    @available(*, unavailable, message: "send(_:) takes text and bytes; to encode a value through the codec, write send(value:)")
    public func send<Value: Encodable>(_ value: Value, lane: Lane = .normal, timeout: Duration? = nil) async throws {}
    /// Not what it is called here.
    @available(*, unavailable, message: "to send a literal as JSON, write send(json:)")
    public func send(_ literal: CodecCore.Value, lane: Lane = .normal, timeout: Duration? = nil) async throws {}
    /// Not what it is called here.
    @available(*, unavailable, message: "request(_:) takes text and bytes; to encode a value, write request(value:matching:timeout:)")
    public func request<Value: Encodable, Answer: Sendable>(
        _ value: Value, matching: @escaping @Sendable (Message) -> Answer?, timeout: Duration = .seconds(30)
    ) async throws -> Answer { fatalError() }

    // Starscream.
    /// Not what it is called here.
    @available(*, unavailable, renamed: "send(_:)", message: "and await it")
    public func write(string: String) {}
    /// Not what it is called here.
    @available(*, unavailable, renamed: "send(_:)", message: "and await it")
    public func write(data: Data) {}
    /// Not what it is called here.
    @available(*, unavailable, renamed: "ping(timeout:)")
    public func write(ping: Data) {}
    /// Not what it is called here.
    @available(*, unavailable, renamed: "disconnect(code:reason:)")
    public func disconnect(closeCode: UInt16) {}
    /// Not what it is called here.
    @available(*, unavailable, message: "loop over `events`, or use WebSocketDelegateAdapter")
    public var onEvent: ((WebSocketEvent) -> Void)? {
        get { nil }
        set {}
    }
    /// Not what it is called here.
    @available(*, unavailable, message: "use WebSocketDelegateAdapter, or loop over `events`")
    public var delegate: (any WebSocketDelegate)? {
        get { nil }
        set {}
    }

    // URLSessionWebSocketTask.
    /// Not what it is called here.
    @available(*, unavailable, renamed: "ping(timeout:)")
    public func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {}
    /// Not what it is called here.
    @available(*, unavailable, message: "loop over `messages`: for try await message in socket.messages")
    public func receive() async throws -> Message { fatalError() }
    /// Not what it is called here.
    @available(*, unavailable, message: "a socket connects when it is made; after disconnect(), call connect()")
    public func resume() {}
    /// Not what it is called here.
    @available(*, unavailable, renamed: "close(code:reason:)")
    public func cancel() {}

    // SocketRocket, and pages.
    /// Not what it is called here.
    @available(*, unavailable, message: "a socket connects when it is made; after disconnect(), call connect()")
    public func open() {}
    /// Not what it is called here.
    @available(*, unavailable, renamed: "send(_:)", message: "and await it")
    public func send(string: String) {}
    /// Not what it is called here.
    @available(*, unavailable, renamed: "send(_:)", message: "and await it")
    public func send(data: Data) {}
    /// Not what it is called here.
    @available(*, unavailable, renamed: "ping(timeout:)")
    public func sendPing() {}
    /// Not what it is called here.
    @available(*, unavailable, renamed: "state")
    public var readyState: WebSocketState { state }
    /// Not what it is called here.
    @available(*, unavailable, renamed: "reconnectNow()")
    public func reconnect() {}
}

extension WebSocketConnection {
    /// Not what it is called here.
    @available(*, unavailable, message: "send(_:) takes text and bytes; to encode a value, send(codec.encode(value)), or use WebSocket")
    public func send<Value: Encodable>(_ value: Value) async throws {}
    /// Not what it is called here.
    @available(*, unavailable, message: "loop over `messages`: for try await message in connection.messages")
    public func receive() async throws -> Message { fatalError() }
    /// Not what it is called here.
    @available(*, unavailable, renamed: "ping(timeout:)")
    public func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {}
    /// Not what it is called here.
    @available(*, unavailable, renamed: "close(code:reason:)")
    public func cancel() {}
}

extension Message {
    /// Not what it is called here.
    @available(*, unavailable, renamed: "text(_:)")
    public static func string(_ string: String) -> Message { .text(string) }
    /// Not what it is called here.
    @available(*, unavailable, renamed: "binary(_:)")
    public static func data(_ data: Data) -> Message { .binary(data) }
}

extension ReconnectPolicy {
    /// Not what it is called here.
    @available(*, unavailable, renamed: "maximumAttempts")
    public var maxAttempts: Int {
        get { maximumAttempts }
        set {}
    }
    /// Not what it is called here.
    @available(*, unavailable, renamed: "maximumAttempts")
    public var maxRetries: Int {
        get { maximumAttempts }
        set {}
    }
}

extension WebSocketOptions {
    /// Not what it is called here.
    @available(*, unavailable, message: "it is reconnect.maximumAttempts")
    public var maxAttempts: Int {
        get { reconnect.maximumAttempts }
        set {}
    }
    /// Not what it is called here.
    @available(*, unavailable, message: "it is connection.limits.message")
    public var maximumMessageSize: Int {
        get { connection.limits.message }
        set {}
    }
}

extension Closure {
    /// Not what it is called here.
    @available(*, unavailable, renamed: "code")
    public var closeCode: CloseCode? { code }
}
