import Holdfast
import MachineCore
import SocketIOCore
import WebSocketApple
import WebSocketCore
import WebSocketRuntime

/// A connection that begins with long polling: runs ``EnginePolling`` over HTTP requests and a WebSocket, one input at a time.
///
/// Its messages are the packets of Engine.IO, so the layers above do not know how they travel.
final class EngineSocket: SystemSocket {
    private let requests: EngineRequests
    private let configuration: WebSocketConfiguration
    private let machine: EnginePolling
    private let inputs: AsyncStream<EngineInput>
    private let post: AsyncStream<EngineInput>.Continuation

    /// Opens a connection for one attempt of a client's socket.
    ///
    /// - Parameters:
    ///   - url: The URL of the WebSocket.
    ///   - configuration: The options of the connection.
    ///   - upgrades: Whether a WebSocket takes over if the server offers it.
    ///   - version: The version of the protocol.
    static func connect(
        to url: String, _ configuration: WebSocketConfiguration, upgrades: Bool, _ version: SocketIOVersion = .v5
    ) async throws(WebSocketError) -> WebSocketConnection {
        do throws(TransportError) {
            #if !canImport(Darwin)
                try configuration.tls.check(for: "long polling over URLSession", supporting: [])
            #endif
            let socket = EngineSocket(try SystemRequest(url, configuration), configuration, upgrades: upgrades, version)
            var settings = SystemSettings(configuration)
            // The server sends the pings, and the protocol above watches for them.
            settings.pingInterval = nil
            return WebSocketConnection(
                try await URLSessionTransport.open(socket, settings), pingTimeout: configuration.timeouts.ping)
        } catch {
            throw WebSocketError(error)
        }
    }

    private init(_ request: SystemRequest, _ configuration: WebSocketConfiguration, upgrades: Bool, _ version: SocketIOVersion) {
        // An answer may hold many messages. Each is decoded when it is taken.
        let (limit, isTooMuch) = configuration.limits.message.multipliedReportingOverflow(by: 16)
        requests = EngineRequests(
            request, limit: isTooMuch ? .max : limit, bodyType: version == .v4 ? "application/octet-stream" : "text/plain;charset=UTF-8")
        self.configuration = configuration
        let patience = configuration.timeouts.connect + configuration.timeouts.handshake
        machine = EnginePolling(upgrades: upgrades, patience: patience, version)
        (inputs, post) = AsyncStream.makeStream()
    }

    func start(_ handle: @escaping @Sendable (SystemEvent) -> Void) {
        // SAFETY: ends with the connection, or with ``abort()``.
        Task { [self] in
            var run = EngineRun(requests, configuration, machine, post, handle)
            run.handle(.rules(.start))
            for await input in inputs {
                run.handle(input)
                if run.isOver { break }
            }
        }
    }

    func receive(_ take: @escaping @Sendable (Result<Message, SystemFailure>) -> Void) {
        if case .terminated = post.yield(.receive(take)) { take(.failure(.over)) }
    }
    func send(_ message: Message, _ done: @escaping @Sendable (SystemFailure?) -> Void) {
        if case .terminated = post.yield(.send(message, done)) { done(.over) }
    }
    func ping(_ done: @escaping @Sendable (SystemFailure?) -> Void) { post.yield(.ping(done)) }
    func close(code: Int, reason: [UInt8]) { post.yield(.close(code: code, reason: reason)) }
    func abort() { post.yield(.abort) }
}

extension SystemFailure {
    fileprivate static let over = SystemFailure(domain: SystemFailure.url, code: -1005, detail: "the connection has ended")
}

/// An input of a running connection.
enum EngineInput: Sendable {
    case rules(EnginePolling.Input)
    case receive(@Sendable (Result<Message, SystemFailure>) -> Void)
    case send(Message, @Sendable (SystemFailure?) -> Void)
    /// A packet of the app was written to the WebSocket.
    case sent
    case ping(@Sendable (SystemFailure?) -> Void)
    case close(code: Int, reason: [UInt8])
    case failed(SystemFailure)
    case webSocket(WebSocketConnection)
    case alarm
    case abort
}

/// The state of a running connection, which carries out what the rules say.
private struct EngineRun {
    private let requests: EngineRequests
    private let configuration: WebSocketConfiguration
    private let post: AsyncStream<EngineInput>.Continuation
    private let report: @Sendable (SystemEvent) -> Void
    private let time = LinkTime(ContinuousClock())
    private let timer: DeadlineTimer
    private var machine: EnginePolling
    private var sid: String?
    private var receiver: (@Sendable (Result<Message, SystemFailure>) -> Void)?
    private var senders: [@Sendable (SystemFailure?) -> Void] = []
    private var closing: (code: Int, reason: [UInt8]) = (1000, [])
    private var failure: SystemFailure?
    private var webSocket: EngineWebSocket?
    private(set) var isOver = false

    init(
        _ requests: EngineRequests, _ configuration: WebSocketConfiguration, _ machine: EnginePolling,
        _ post: AsyncStream<EngineInput>.Continuation, _ report: @escaping @Sendable (SystemEvent) -> Void
    ) {
        (self.requests, self.configuration, self.machine, self.post, self.report) = (requests, configuration, machine, post, report)
        timer = DeadlineTimer(time)
    }

    mutating func handle(_ input: EngineInput) {
        switch input {
        case .rules(let input): feed { $0.handle(input, at: $1, into: &$2) }
        case .receive(let take):
            receiver = take
            handle(.rules(.wanted))
        case .send(let message, let done):
            senders.append(done)
            handle(.rules(.send(message)))
        case .sent: confirm(1)
        // Long polling has no pings of the client, so this one counts as answered.
        case .ping(let done): if machine.hasUpgraded, let webSocket { webSocket.ping(done) } else { done(nil) }
        case .close(let code, let reason):
            closing = (code, reason)
            handle(.rules(.close))
        case .failed(let failure):
            self.failure = failure
            handle(.rules(.failed))
        case .webSocket(let connection):
            webSocket = EngineWebSocket(connection, post)
            handle(.rules(.webSocketOpened))
        case .alarm: feed { $0.wake(at: $1, into: &$2) }
        case .abort: end(.over)
        }
    }

    private mutating func feed(_ body: (inout EnginePolling, Moment, inout [EnginePolling.Effect]) -> Void) {
        var effects: [EnginePolling.Effect] = []
        body(&machine, time.now(), &effects)
        if let deadline = machine.deadline { timer.set(deadline) { [post] in post.yield(.alarm) } }
        for effect in effects { perform(effect) }
    }

    private mutating func perform(_ effect: EnginePolling.Effect) {
        switch effect {
        case .poll: start(nil) { .rules(.polled($0)) }
        case .post(let body): start(body) { _ in .rules(.posted) }
        case .opened(let sid):
            self.sid = sid
            report(.opened(Agreement(response: ResponseHead(status: 200))))
        case .deliver(let message): receiver.take()?(.success(message))
        case .sent(let count): confirm(count)
        case .openWebSocket: openWebSocket()
        case .readWebSocket: webSocket?.read()
        case .writeWebSocket(let message): webSocket?.write(message, isOfApp: true)
        case .controlWebSocket(let message): webSocket?.write(message, isOfApp: false)
        case .closeWebSocket: webSocket?.close(closing.code)
        case .dropWebSocket: webSocket = nil
        case .ended(.closed):
            report(.closed(code: closing.code, reason: closing.reason))
            end(nil)
        case .ended(.failed): end(failure ?? .over)
        case .ended(.broken(let reason)): end(SystemFailure(domain: SystemFailure.url, code: -1011, detail: reason))
        }
    }

    private func start(_ body: [UInt8]?, _ input: @escaping @Sendable ([UInt8]) -> EngineInput) {
        requests.start(body, sid: sid) { [post] answer in
            switch answer {
            case .success(let body): post.yield(input(body))
            case .failure(let failure): post.yield(.failed(failure))
            }
        }
    }

    private func openWebSocket() {
        let (url, cookies) = requests.webSocket(sid: sid ?? "")
        var configuration = configuration
        if let cookies {
            configuration.headers["Cookie"] = [configuration.headers["Cookie"], cookies].compactMap(\.self).joined(separator: "; ")
        }
        // SAFETY: ends with the attempt, which has a deadline.
        Task { [configuration, post] in
            do throws(WebSocketError) {
                post.yield(.webSocket(try await WebSocketConnection.connect(to: url, configuration: configuration)))
            } catch {
                post.yield(.rules(.webSocketEnded))
            }
        }
    }

    /// Reports that the earliest messages were sent.
    private mutating func confirm(_ count: Int) {
        for done in senders.prefix(count) { done(nil) }
        senders.removeFirst(min(count, senders.count))
    }

    private mutating func end(_ failure: SystemFailure?) {
        isOver = true
        post.finish()
        timer.cancel()
        requests.cancel()
        webSocket = nil
        report(.ended(failure))
        receiver.take()?(.failure(failure ?? .over))
        for done in senders { done(failure ?? .over) }
        senders = []
    }
}

/// The WebSocket that takes over; the connection is dropped when the last reference is gone.
private final class EngineWebSocket: Sendable {
    private enum Output: Sendable {
        case message(Message, isOfApp: Bool)
        case close(CloseCode)
    }
    private let connection: WebSocketConnection
    private let reads: AsyncStream<Void>.Continuation
    private let outputs: AsyncStream<Output>.Continuation

    init(_ connection: WebSocketConnection, _ post: AsyncStream<EngineInput>.Continuation) {
        let (reading, reads) = AsyncStream.makeStream(of: Void.self)
        let (writing, outputs) = AsyncStream.makeStream(of: Output.self)
        (self.connection, self.reads, self.outputs) = (connection, reads, outputs)
        // SAFETY: both end with the connection, or when this object is released.
        Task {
            var messages = connection.messages.makeAsyncIterator()
            for await _ in reading {
                guard let message = try? await messages.next() else { break }
                post.yield(.rules(.webSocketReceived(message)))
            }
            post.yield(.rules(.webSocketEnded))
        }
        Task {
            for await output in writing {
                switch output {
                // The reader reports the end of the connection.
                case .message(let message, let isOfApp):
                    guard (try? await connection.send(message)) != nil else { return }
                    if isOfApp { post.yield(.sent) }
                case .close(let code):
                    await connection.close(code: code)
                    post.yield(.rules(.webSocketEnded))
                }
            }
        }
    }

    deinit {
        reads.finish()
        outputs.finish()
        connection.abort()
    }

    func read() { reads.yield() }
    func ping(_ done: @escaping @Sendable (SystemFailure?) -> Void) {
        // SAFETY: a ping has a deadline.
        Task { [connection] in done((try? await connection.ping()) == nil ? .over : nil) }
    }
    func write(_ message: Message, isOfApp: Bool) { outputs.yield(.message(message, isOfApp: isOfApp)) }
    func close(_ code: Int) { outputs.yield(.close(UInt16(exactly: code).map(CloseCode.init(rawValue:)) ?? .normal)) }
}
