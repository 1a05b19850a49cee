import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Brings one message at a time to a session, and stays until its end is known: nothing else of its sender is ahead of what others send.
struct Courier: Sendable {
    /// What became of a message.
    enum Outcome {
        case written
        /// A connection had taken it, and was lost.
        case unknown
        /// It will never leave.
        case lost
    }
    /// How long it waits before it tries again what was refused.
    private static let pause = Duration.milliseconds(100)

    let session: LiveSession
    let lane: Lane

    var now: Duration { session.instruments.now() }

    /// Waits for a connection; false once the socket is closed.
    func ready() async -> Bool {
        while true {
            let version = session.desk.news.version
            if session.desk.isClosed { return false }
            if session.desk.line != nil { return true }
            await session.desk.news.next(after: version)
        }
    }

    /// Sends a message; what was refused never left, so it is sent again.
    func carry(_ message: Message) async -> Outcome {
        while await ready() {
            switch await fate(of: message) {
            case .written: return .written
            case .unknown: return .unknown
            case .refused(.closed), .refused(.tooLarge), .refused(.withdrawn): return .lost
            case .refused: try? await session.sleep(Self.pause)
            }
        }
        return .lost
    }

    private func fate(of message: Message) async -> SendFate {
        if let receipt = session.desk.offer(message) { return await receipt.fate() }
        do throws(WebSocketError) {
            return await (try session.send(message, lane, patience: nil)).fate()
        } catch {
            return switch error.code {
            case .closed: .refused(.closed)
            case .tooLarge: .refused(.tooLarge)
            case .cancelled: .refused(.withdrawn)
            default: .refused(.timedOut)
            }
        }
    }

    /// Waits for `body` as long as `limit` allows, by the socket's clock; nil: as long as it takes.
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

/// Makes messages of a batch.
struct BatchEncoding: Sendable {
    /// A message, and how many values it has.
    typealias Parcel = (message: Message, count: Int)

    let codec: any MessageCodec
    /// The most bytes of a message, unless a single value has more.
    let limit: Int
    let onFailure: (@Sendable (WebSocketError) -> Void)?

    /// The messages for these values, in order: one, unless that would be too long.
    ///
    /// A value that cannot be encoded is left out and told.
    func parcels<Value: Encodable>(of values: [Value]) -> [Parcel] {
        do { return split(values, try codec.encode(values)) } catch {}
        let sound = values.filter { isSound($0) }
        guard !sound.isEmpty else { return [] }
        do { return split(sound, try codec.encode(sound)) } catch {
            tell(error, [Value].self)
            return []
        }
    }

    /// The message for a value; nil if it cannot be encoded, which is told.
    func message<Value: Encodable>(of value: Value) -> Message? {
        do { return try codec.encode(value) } catch {
            tell(error, Value.self)
            return nil
        }
    }

    private func isSound<Value: Encodable>(_ value: Value) -> Bool {
        do {
            _ = try codec.encode([value])
            return true
        } catch {
            tell(error, Value.self)
            return false
        }
    }

    private func split<Value: Encodable>(_ values: [Value], _ message: Message) -> [Parcel] {
        guard message.byteCount > limit, values.count > 1 else { return [(message, values.count)] }
        let middle = values.count / 2
        return parcels(of: Array(values[..<middle])) + parcels(of: Array(values[middle...]))
    }

    private func tell(_ error: any Error, _ type: Any.Type) {
        onFailure?(WebSocketError(TransportError(.codec, "a \(type) could not be encoded", underlying: error)))
    }
}
