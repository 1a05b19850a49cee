import Holdfast
import HoldfastTesting
import Testing

extension Stage {
    /// A socket with this send policy.
    init(sending policy: SendPolicy, configuration: WebSocketConfiguration = WebSocketConfiguration()) {
        self.init(configuration: configuration) { $0.sending = policy }
    }

    /// Accepts the next attempt; returns the server's end once the socket is connected.
    func connect() async throws -> MemoryTransport {
        let peer = try await accept()
        await state { if case .connected = $0 { true } else { false } }
        return peer
    }

    /// Sends a message; returns the error's code, nil on success.
    func refusal(of message: Message, _ lane: Lane = .normal, timeout: Duration? = nil) async -> WebSocketError.Code? {
        await code { () async throws(WebSocketError) in try await socket.send(message, lane: lane, timeout: timeout) }
    }

    /// Waits until this number of messages wait to be sent.
    func waiting(_ count: Int) async { await waiting { $0 == count } }

    func waiting(_ isWanted: (Int) -> Bool) async {
        while !isWanted(socket.sendQueueDepth.count), !Task.isCancelled { await Task.yield() }
    }
}

extension MemoryTransport {
    /// Returns the texts of the next messages.
    func texts(_ count: Int) async throws -> [String] {
        var texts: [String] = []
        for _ in 0..<count {
            guard case .text(let text)? = try await message() else { throw CancellationError() }
            texts.append(text)
        }
        return texts
    }
}

extension SendPolicy {
    /// A policy with a queue for this number of messages.
    static func queue(_ count: Int, _ overflow: Overflow = .refuse) -> SendPolicy {
        SendPolicy(whileDisconnected: .queue, capacity: SendVolume(count: count, bytes: 100_000), overflow: overflow)
    }
}
