import Holdfast

/// Asks one question after the other; one that comes to nothing does not keep the others from being asked.
struct Examination: Sendable {
    let errand: Errand
    let notes: CaseNotes
    /// Whether to look at compression.
    let isCompressionTried: Bool
    /// The largest message to be tried.
    let limitCap: Int
    /// For how long to be silent; nil: not at all.
    let idle: Duration?

    func run() async {
        let url = errand.options.url
        if url.socketPath == nil {
            await attempt("resolution") { errand in
                let found = await ResolveProbe.run(errand)
                return { $0.resolution = found }
            }
        }
        guard await isReachable else { return }
        if url.isSecure {
            await attempt("security") { errand in
                let view = try await SecurityProbe.run(errand)
                return { $0.security = view }
            }
            // What the user would send is not for whoever answers there.
            if let security = await notes.observations.security, security.distrust != nil, !security.isUnverified { return }
        }
        guard let wire = await upgrade() else { return }
        var habits = Habits()
        habits.pongs = await pings(wire)
        await attempt("close") { errand in
            let view = await CloseProbe.run(wire, errand)
            return { $0.close = view }
        }
        await wire.drop()
        await messages(&habits)
        await sizes(habits)
        await surroundings()
        if let idle {
            await attempt("idle") { errand in
                let view = try await IdleProbe.run(idle, errand)
                return { $0.idle = view }
            }
        }
    }

    private func upgrade() async -> Wire? {
        await notes.begin("upgrade")
        do {
            let wire = try await Wire.open(errand)
            await notes.note { $0.upgrade = wire.view }
            return wire
        } catch {
            await notes.note { $0.upgrade = error.view }
            return nil
        }
    }

    private func pings(_ wire: Wire) async -> Bool? {
        await attempt("pings") { errand in
            let view = await PingProbe.run(wire, errand)
            return { $0.pings = view }
        }
        return await notes.observations.pings.map { $0.answered > 0 }
    }

    private func messages(_ habits: inout Habits) async {
        for trial in Trial.allCases {
            await attempt(trial.rawValue) { [habits] errand in
                let reaction = try await MessageProbe.run(trial, habits, errand)
                return { $0[trial] = reaction }
            }
            if trial == .text { habits.echoes = await notes.observations[.text].map { $0.kind == .echoed } }
        }
    }

    private func sizes(_ habits: Habits) async {
        if isCompressionTried {
            await attempt("compression") { errand in
                let view = try await CompressionProbe.run(habits, errand)
                return { $0.compression = view }
            }
        }
        let seen = await notes.observations
        // A kind that is echoed tells most; otherwise a pong must do.
        let kinds: [(MessageKind, Reaction?)] = [(.binary, seen[.binary]), (.text, seen[.text])]
        let kind = kinds.first { $0.1?.kind == .echoed } ?? kinds.first { $0.1?.isSurvived == true && habits.pongs != false }
        guard let kind else { return await notes.fail("limit", "nothing that it takes is answered, so there is no telling") }
        let habits = Habits(pongs: habits.pongs, echoes: kind.1?.kind == .echoed)
        await attempt("limit", atMost: .seconds(20)) { errand in
            let view = try await LimitProbe.run(kind.0, cap: limitCap, habits, errand)
            return { $0.limit = view }
        }
    }

    private func surroundings() async {
        if errand.options.url.socketPath == nil {
            await attempt("unknownPath") { errand in
                let view = try await RequestProbe.unknownPath(errand)
                return { $0.unknownPath = view }
            }
        }
        await attempt("wrongOrigin") { errand in
            let view = await RequestProbe.wrongOrigin(errand)
            return { $0.wrongOrigin = view }
        }
        await attempt("malformed") { errand in
            let view = try await MalformedProbe.run(errand)
            return { $0.malformed = view }
        }
    }

    /// Whether there is an address that can be connected to; where nothing was looked up, there may be.
    private var isReachable: Bool {
        get async { await notes.observations.resolution.map { !$0.answering.isEmpty } ?? true }
    }

    private func attempt(
        _ probe: String, atMost limit: Duration? = nil, _ body: (Errand) async throws -> (inout Observations) -> Void
    ) async {
        guard errand.hasTime else { return await notes.fail(probe, "no time was left; see --timeout") }
        await notes.begin(probe)
        do {
            await notes.note(try await body(limit.map(errand.within) ?? errand))
        } catch {
            await notes.fail(probe, (error as? TransportError)?.detail ?? "\(error)")
        }
    }
}

/// How to reach the server, and how long to wait for it.
struct Errand: Sendable {
    var options: ClientOptions
    /// For one answer.
    let patience: Duration
    /// When all is over.
    let end: ContinuousClock.Instant

    init(options: ClientOptions, patience: Duration, end: ContinuousClock.Instant) {
        (self.options, self.patience, self.end) = (options, patience, end)
        (self.options.connectTimeout, self.options.handshakeTimeout) = (patience, patience)
    }

    /// Whether there is time for another question.
    var hasTime: Bool { ContinuousClock.now < end }

    /// So long from now, or the patience, but not past the end.
    func deadline(_ limit: Duration? = nil) -> ContinuousClock.Instant { min(.now + (limit ?? patience), end) }

    /// The same errand with less time.
    func within(_ limit: Duration) -> Errand { Errand(options: options, patience: patience, end: deadline(limit)) }
}

extension ContinuousClock.Instant {
    /// How long it is until then; zero once it has passed.
    var remaining: Duration { max(.zero, ContinuousClock.now.duration(to: self)) }
}

/// A probe came to nothing.
struct ProbeFailure: Error, CustomStringConvertible { let description: String }

/// What the doctor has seen so far: there when a signal comes in the middle.
actor CaseNotes {
    private(set) var observations: Observations
    private let onProbe: @Sendable (String) -> Void

    init(_ observations: Observations, onProbe: @escaping @Sendable (String) -> Void = { _ in }) {
        (self.observations, self.onProbe) = (observations, onProbe)
    }

    func begin(_ probe: String) { onProbe(probe) }
    func note(_ change: (inout Observations) -> Void) { change(&observations) }
    func fail(_ probe: String, _ why: String) { observations.unfinished.append(.init(probe: probe, why: why)) }
}
