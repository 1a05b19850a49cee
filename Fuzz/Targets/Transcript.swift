import WebSocketCore

/// The results of a `MessageReader` for some bytes, independent of the pieces and of the delivery.
struct Transcript: Equatable {
    enum Entry: Equatable {
        case message(MessageKind, [UInt8])
        case control(MessageReader.Event)
    }
    private(set) var entries: [Entry] = []
    private(set) var violation: ProtocolViolation.Kind?

    /// Feeds these pieces to a reader, and checks the invariants at each step.
    ///
    /// - Parameter isFast: Reads as a connection does: with the fast path first, and only up to the first violation.
    init(_ reader: MessageReader, limits: MessageLimits, _ pieces: [UnsafeRawBufferPointer], isFast: Bool = false) throws {
        var (reader, open, violations) = (reader, [] as [UInt8], 0)
        for piece in pieces where !isFast || violation == nil {
            var rest = piece
            do throws(ProtocolViolation) {
                while true {
                    if isFast, let lone = reader.nextLone(&rest) {
                        note(.message(try lone.message()), &open)
                    } else if let event = try reader.next(&rest) {
                        note(event, &open)
                    } else {
                        break
                    }
                }
            } catch {
                violation = error.kind
                violations += 1
                if isFast { rest = UnsafeRawBufferPointer(rebasing: rest[..<0]) }
            }
            try expect(rest.isEmpty, "the reader did not consume all bytes")
        }
        try expect(violations <= 1, "a violation after a violation")
        for case .message(_, let bytes) in entries { try expect(bytes.count <= limits.message, "a message of \(bytes.count) bytes") }
        try expect(open.count <= limits.message, "chunks of \(open.count) bytes")
        let closings = entries.indices.filter { if case .control(.close) = entries[$0] { true } else { false } }
        try expect(closings.allSatisfy { $0 == entries.count - 1 }, "an event follows a close frame")
        try expect(closings.isEmpty || violation == nil, "a violation follows a close frame")
    }

    private mutating func note(_ event: MessageReader.Event, _ open: inout [UInt8]) {
        switch event {
        case .message(.text(let text)): entries.append(.message(.text, Array(text.utf8)))
        case .message(.binary(let bytes)): entries.append(.message(.binary, bytes))
        case .chunk(let chunk):
            open += chunk.bytes
            guard chunk.isLast else { return }
            entries.append(.message(chunk.kind, open))
            open = []
        case .ping, .pong, .close: entries.append(.control(event))
        }
    }
}
