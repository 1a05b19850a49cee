import Holdfast

/// Sends messages back in the event loop turn in which they arrived.
final class InlineEcho: InlineHandler {
    /// Replies that were refused, until the socket accepts them.
    private var waiting: [(kind: MessageKind, bytes: [UInt8])] = []

    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {
        if waiting.isEmpty, socket.send(kind, bytes) { return }
        waiting.append((kind, bytes.withUnsafeBytes { Array($0) }))
    }

    func writable(_ socket: InlineSocket) {
        while let first = waiting.first, socket.send(first.kind, first.bytes.span.bytes) { waiting.removeFirst() }
    }
}
