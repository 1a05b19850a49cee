import Holdfast

/// A session that sends numbered messages to an echo server and records them in ``Books``.
actor Survivor {
    /// How much it sends.
    struct Pace {
        var between = Duration.milliseconds(5)
        /// The maximum padding of a message, in characters times three.
        var padding = 700
        /// How long the app is idle after the first message.
        var nap = Duration.zero
    }
    /// When links are given up, and how fast they are replaced.
    static let interval = Duration.milliseconds(500)
    static let patience = Duration.seconds(6)

    nonisolated let socket: WebSocket
    nonisolated let name: String
    private let pace: Pace
    private(set) var books = Books()
    private var isSending = true
    private var consumer: Task<Void, Never>?
    private var producer: Task<Void, Never>?
    private weak var office: TokenOffice?

    init(_ name: String, _ url: String, tokenLife: Duration = .seconds(3600), pace: Pace = Pace()) {
        let office = TokenOffice(client: name, life: tokenLife)
        (self.name, self.pace, self.office) = (name, pace, office)
        socket = WebSocket(url) { options in
            options.credentials = .bearer { office.next() }
            options.reconnect = ReconnectPolicy(
                backoff: Backoff(base: .milliseconds(50), cap: .seconds(1), minimum: .milliseconds(20)),
                stableAfter: .milliseconds(100), spacing: .milliseconds(20))
            options.connection.timeouts.pingInterval = Self.interval
            options.connection.timeouts.ping = Self.patience
            options.connection.timeouts.handshake = .seconds(2)
            if pace.nap > .zero { options.connection.limits.receiveBuffer = 4096 }
        }
    }

    /// Starts to send.
    ///
    /// Returns when the first message came back.
    func start() async throws {
        // SAFETY: both end with the socket, which `finish` closes; `producer` is awaited there.
        consumer = Task { for await event in self.socket.events { await self.note(event, at: .now) } }
        producer = Task { await self.produce() }
        try await eventually("\(name) begins") { books.received > 0 }
    }

    /// The first opening after a moment.
    func opening(after moment: ContinuousClock.Instant) async throws -> ContinuousClock.Instant {
        try await eventually("\(name) connects again") { books.openings.last.map { $0 > moment } ?? false || books.isOver }
        guard let opening = books.openings.first(where: { $0 > moment }) else { throw Suite.Failure(description: "\(name) has ended") }
        return opening
    }

    /// The first end of an open connection after a moment.
    func death(after moment: ContinuousClock.Instant) async throws -> Books.Loss {
        try await eventually("\(name) notices") { books.deaths.last.map { $0.at > moment } ?? false || books.isOver }
        guard let death = books.deaths.first(where: { $0.at > moment }) else { throw Suite.Failure(description: "\(name) has ended") }
        return death
    }

    /// Waits until the current token has expired.
    func expiry() async throws {
        while let left = office?.left, left > 0 { try await Task.sleep(for: .milliseconds(left + 1)) }
    }

    var staleCount: Int { office?.staleCount ?? 0 }

    /// Stops sending, waits for the last message to come back, closes, and returns the record.
    func finish() async throws -> Books {
        isSending = false
        await producer?.value
        // If the link fails during the last message, another message is the last.
        let lastOpening = books.openings.count
        try? await eventually("\(name) has all its messages back", within: .seconds(30)) {
            books.last == books.sent || books.openings.count > lastOpening
        }
        if books.last != books.sent {
            await send()
            try await eventually("\(name) has its last message back") { books.last == books.sent || books.isOver }
        }
        await socket.close()
        await consumer?.value
        return books
    }

    private func note(_ event: WebSocketEvent, at now: ContinuousClock.Instant) async {
        books.note(event, at: now, padding: pace.padding)
        if pace.nap > .zero, books.received == 1 { try? await Task.sleep(for: pace.nap) }
    }

    private func produce() async {
        while isSending, !books.isOver {
            await send()
            try? await Task.sleep(for: pace.between)
        }
    }

    private func send() async {
        do throws(WebSocketError) {
            try await socket.send(.text(Books.message(books.next(), padding: pace.padding)), timeout: .seconds(60))
        } catch {
            books.noteRefused()
        }
    }
}
