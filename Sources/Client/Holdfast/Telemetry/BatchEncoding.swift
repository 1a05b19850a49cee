import WebSocketCore

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
