import Holdfast

extension Suite {
    static func binary(_ count: Int) -> Message {
        .binary((0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 >> 8) })
    }

    static func echo(_ message: Message) -> Check {
        { connection in
            try await connection.send(message)
            try expect(await receive(from: connection), message)
        }
    }

    @Sendable static func thousandInOrder(_ connection: WebSocketConnection) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for number in 0..<1000 { try await connection.send(.text("message \(number)")) } }
            for number in 0..<1000 { try expect(await receive(from: connection), .text("message \(number)")) }
            try await group.waitForAll()
        }
    }

    @Sendable static func fragments(_ connection: WebSocketConnection) async throws {
        guard case .binary(let whole) = binary(30_000) else { return }
        let (pieces, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        for start in stride(from: 0, to: whole.count, by: 10_000) { continuation.yield(Array(whole[start..<start + 10_000])) }
        continuation.finish()
        try await connection.send(.binary, pieces: pieces)
        try expect(await receive(from: connection), .binary(whole))
    }

    static func receive(from connection: WebSocketConnection) async throws -> Message {
        for try await message in connection.messages { return message }
        throw Failure(description: "the connection has ended")
    }

    static func expect<Value: Equatable>(_ got: Value, _ wanted: Value) throws {
        guard got != wanted else { return }
        throw Failure(description: "got \(shown(got)), not \(shown(wanted))")
    }

    private static func shown(_ value: some Equatable) -> String {
        switch value as Any {
        case Message.text(let text) where text.utf8.count > 60: "text of \(text.utf8.count) bytes"
        case Message.binary(let bytes) where bytes.count > 60: "\(bytes.count) bytes"
        default: "\(value)"
        }
    }

    static func withDeadline(_ limit: Duration, _ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: limit)
                throw Failure(description: "no answer in \(limit)")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
