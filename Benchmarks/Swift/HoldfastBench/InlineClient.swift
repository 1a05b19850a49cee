import Holdfast
import Measure

/// The three workloads as callbacks.
final class InlineClient: InlineHandler {
    private let workload: Workload
    private let payload: [UInt8]
    private var trips: RoundTrips
    private var meter = Meter()
    private var count = 0
    private var isDone = false

    static func run(_ workload: Workload) async throws {
        let url = "ws://127.0.0.1:\(workload.port)\(workload.mode.path)"
        let connection = try await InlineConnection.connect(to: url, configuration: .bench) { InlineClient(workload) }
        _ = await connection.ended()
    }

    private init(_ workload: Workload) {
        self.workload = workload
        payload = workload.payload
        trips = RoundTrips(workload)
    }

    func opened(_ socket: InlineSocket) {
        if workload.mode == .ping { return ping(socket) }
        meter.begin()
        if workload.mode == .receive { socket.send(.text(workload.order)) } else { send(socket) }
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {
        switch (kind, workload.mode) {
        case (.binary, .ping):
            workload.check("size of an echo", bytes.byteCount, workload.size)
            if let line = trips.arrive() { finish(line, socket) } else { ping(socket) }
        case (.binary, _):
            workload.check("size of a message", bytes.byteCount, workload.size)
            count += 1
        case (.text, _):
            let line = meter.finish(workload.count)
            let total = workload.mode == .send ? Int(bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }) : count
            workload.check("messages", total, workload.count)
            finish(line, socket)
        }
    }

    func writable(_ socket: InlineSocket) {
        if workload.mode == .send { send(socket) }
    }

    func ended(_ result: Result<CloseRecord, TransportError>) {
        if !isDone { Workload.fail("closed too early: \(result)") }
    }

    private func ping(_ socket: InlineSocket) {
        let payload = payload
        trips.depart()
        socket.send(.binary, payload.span.bytes)
    }

    /// Sends until the socket is full.
    private func send(_ socket: InlineSocket) {
        // A span must not outlive its storage, which the compiler cannot check for a class's property.
        let payload = payload
        while count < workload.count {
            guard socket.send(.binary, payload.span.bytes) else { return }
            count += 1
        }
        if count == workload.count, socket.send(.text("end")) { count += 1 }
    }

    private func finish(_ line: String, _ socket: InlineSocket) {
        print(line)
        isDone = true
        socket.close()
    }
}
