import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Sends one message at a time and waits for its outcome, so that messages of other senders never queue behind many of this sender.
struct BatchSender: Sendable {
    /// The outcome of a message.
    enum Outcome {
        case written
        /// A connection took it and was lost before it was written.
        case unknown
        /// It will never be sent.
        case lost
    }
    /// The delay before a refused message is sent again.
    private static let pause = Duration.milliseconds(100)

    let session: LiveSession
    let lane: Lane

    var now: Duration { session.instruments.now() }

    /// Waits for a connection; returns false once the socket is closed.
    func ready() async -> Bool {
        while true {
            let version = session.sendDriver.news.version
            if session.sendDriver.isClosed { return false }
            if session.sendDriver.target != nil { return true }
            await session.sendDriver.news.next(after: version)
        }
    }

    /// Sends a message; retries a refused one, because it was never sent.
    func carry(_ message: Message) async -> Outcome {
        while await ready() {
            switch await outcome(of: message) {
            case .written: return .written
            case .unknown: return .unknown
            case .refused(.closed), .refused(.tooLarge), .refused(.withdrawn): return .lost
            case .refused: try? await session.sleep(Self.pause)
            }
        }
        return .lost
    }

    private func outcome(of message: Message) async -> SendOutcome {
        if let receipt = session.sendDriver.offer(message) { return await receipt.outcome() }
        do throws(WebSocketError) {
            return await (try session.send(message, lane, patience: nil)).outcome()
        } catch {
            return switch error.code {
            case .closed: .refused(.closed)
            case .tooLarge: .refused(.tooLarge)
            case .cancelled: .refused(.withdrawn)
            default: .refused(.timedOut)
            }
        }
    }

    /// Runs `body` for at most `limit` by the socket's clock; nil: no limit.
    func wait(_ limit: Duration?, for body: @escaping @Sendable () async -> Bool) async -> Bool {
        guard let limit else { return await body() }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { await body() }
            group.addTask {
                try? await session.sleep(limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }
}

/// Encodes batches of values as messages.
struct BatchEncoding: Sendable {
    /// A message and the number of its values.
    typealias EncodedBatch = (message: Message, count: Int)

    let codec: any MessageCodec
    /// The maximum size of a message in bytes, unless a single value is larger.
    let limit: Int
    let onFailure: (@Sendable (WebSocketError) -> Void)?

    /// Returns the messages for these values, in order: one, unless it would be too long.
    ///
    /// A value that cannot be encoded is left out and reported.
    func batches<Value: Encodable>(of values: [Value]) -> [EncodedBatch] {
        do { return split(values, try codec.encode(values)) } catch {}
        let sound = values.filter { isSound($0) }
        guard !sound.isEmpty else { return [] }
        do { return split(sound, try codec.encode(sound)) } catch {
            notify(error, [Value].self)
            return []
        }
    }

    /// Returns the message for a value; if it cannot be encoded, reports that and returns nil.
    func message<Value: Encodable>(of value: Value) -> Message? {
        do { return try codec.encode(value) } catch {
            notify(error, Value.self)
            return nil
        }
    }

    private func isSound<Value: Encodable>(_ value: Value) -> Bool {
        do {
            _ = try codec.encode([value])
            return true
        } catch {
            notify(error, Value.self)
            return false
        }
    }

    private func split<Value: Encodable>(_ values: [Value], _ message: Message) -> [EncodedBatch] {
        guard message.byteCount > limit, values.count > 1 else { return [(message, values.count)] }
        let middle = values.count / 2
        return batches(of: Array(values[..<middle])) + batches(of: Array(values[middle...]))
    }

    private func notify(_ error: any Error, _ type: Any.Type) {
        onFailure?(WebSocketError(TransportError(.codec, "a \(type) could not be encoded", underlying: error)))
    }
}
