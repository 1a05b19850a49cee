import Holdfast
import Measure

/// The three workloads with `async` functions.
///
/// Each returns the line to print.
struct Client: Sendable {
    private let workload: Workload

    init(_ workload: Workload) { self.workload = workload }

    /// Runs on the connection's event loop.
    @concurrent
    func runOnEventLoop() async throws -> String {
        try await withConnection { connection in try await connection.onEventLoop { try await run($0) } }
    }

    /// Runs on the global thread pool.
    @concurrent
    func runOnPool() async throws -> String {
        try await withConnection(run)
    }

    /// Receives on the event loop without a `Message` for each message.
    @concurrent
    func runInBatches() async throws -> String {
        try await withConnection { connection in try await connection.onEventLoop { try await receiveBatches($0) } }
    }

    private func withConnection(_ body: (WebSocketConnection) async throws -> String) async throws -> String {
        let url = "ws://127.0.0.1:\(workload.port)\(workload.mode.path)"
        return try await WebSocketConnection.withConnection(to: url, configuration: .bench, body)
    }

    private func run(_ connection: WebSocketConnection) async throws -> String {
        switch workload.mode {
        case .ping: try await ping(connection)
        case .receive: try await receive(connection)
        case .send: try await send(connection)
        }
    }

    private func ping(_ connection: WebSocketConnection) async throws -> String {
        let message = Message.binary(workload.payload)
        var trips = RoundTrips(workload)
        trips.depart()
        try await connection.send(message)
        for try await echo in connection.messages {
            workload.check("size of an echo", echo.byteCount, workload.size)
            if let line = trips.arrive() { return line }
            trips.depart()
            try await connection.send(message)
        }
        Workload.fail("closed too early")
    }

    private func receive(_ connection: WebSocketConnection) async throws -> String {
        var meter = Meter()
        var count = 0
        meter.begin()
        try await connection.send(.text(workload.order))
        for try await message in connection.messages {
            guard case .binary(let bytes) = message else {
                let line = meter.finish(workload.count)
                workload.check("messages", count, workload.count)
                return line
            }
            workload.check("size of a message", bytes.count, workload.size)
            count += 1
        }
        Workload.fail("closed too early")
    }

    private func receiveBatches(_ connection: WebSocketConnection) async throws -> String {
        var meter = Meter()
        var (count, isOver) = (0, false)
        meter.begin()
        try await connection.send(.text(workload.order))
        for try await var batch in connection.batches {
            batch.forEach { kind, bytes in
                if kind == .text { return isOver = true }
                workload.check("size of a message", bytes.byteCount, workload.size)
                count += 1
            }
            guard isOver else { continue }
            let line = meter.finish(workload.count)
            workload.check("messages", count, workload.count)
            return line
        }
        Workload.fail("closed too early")
    }

    private func send(_ connection: WebSocketConnection) async throws -> String {
        let message = Message.binary(workload.payload)
        var meter = Meter()
        meter.begin()
        for _ in 0..<workload.count { try await connection.send(message) }
        try await connection.send(.text("end"))
        for try await case .text(let answer) in connection.messages {
            let line = meter.finish(workload.count)
            workload.check("messages", Int(answer), workload.count)
            return line
        }
        Workload.fail("closed too early")
    }
}

extension WebSocketConfiguration {
    /// Without compression, with a limit for the largest measured message.
    static var bench: WebSocketConfiguration {
        var configuration = WebSocketConfiguration()
        configuration.compression = nil
        configuration.limits.message = 64 << 20
        return configuration
    }
}
