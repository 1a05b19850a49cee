import GraphQLCore
package import Holdfast
package import HoldfastTerminal

/// Runs the probes one after another; a failed probe does not stop the others.
package struct Examination: Sendable {
    /// The greatest value for the largest message to try.
    package static let greatestLimitCap = Wire.largest / 2

    private let target: ProbeTarget
    private let notes: CaseNotes
    private let limitCap: Int
    private let idle: Duration?

    /// Creates an examination; throws if the URL or the configuration cannot be used.
    ///
    /// - Parameters:
    ///   - patience: The time limit for one answer.
    ///   - time: The time limit for the whole examination, without the time for silence.
    ///   - limitCap: The largest message to try.
    ///   - idle: How long to be silent; nil: no idle probe.
    ///   - onProbe: Gets the name of each probe when it begins.
    package init(
        of url: WebSocketURL, _ configuration: WebSocketConfiguration, patience: Duration, time: Duration, limitCap: Int, idle: Duration?,
        onProbe: @escaping @Sendable (String) -> Void
    ) throws(WebSocketError) {
        let options = try ClientOptions(url.string, configuration)
        var observations = Observations(url: "\(url)")
        let isFromEnvironment = if case .environment = configuration.proxy { true } else { false }
        observations.proxy = options.proxy.map { ProxyView(url: "\($0)", isFromEnvironment: isFromEnvironment) }
        notes = CaseNotes(observations, onProbe: onProbe)
        target = ProbeTarget(options: options, patience: patience, end: .now + (time + (idle ?? .zero) * 3))
        (self.limitCap, self.idle) = (limitCap, idle)
    }

    /// Returns the report of what was found until now.
    ///
    /// - Parameter stopped: The signal that stopped the examination early.
    package func report(stopped: Outcome?) async -> DoctorReport { DoctorReport(await notes.observations, stopped: stopped) }

    /// Runs all probes.
    package func run() async {
        let url = target.options.url
        if url.socketPath == nil {
            await attempt("resolution") { target in
                let found = await ResolveProbe.run(target)
                return { $0.resolution = found }
            }
        }
        guard await isReachable else { return }
        if url.isSecure {
            await attempt("security") { target in
                let view = try await SecurityProbe.run(target)
                return { $0.security = view }
            }
            // The user's headers and messages must not be sent to an untrusted server.
            if let security = await notes.observations.security, security.distrust != nil, !security.isUnverified { return }
        }
        let upgraded = await upgrade()
        // A server of GraphQL may refuse an upgrade without its subprotocol.
        if await notes.observations.upgrade?.remote != nil {
            for version in GraphQLProtocol.allCases {
                await attempt(version.rawValue, atMost: .seconds(5)) { target in
                    let view = await GraphQLProbe.run(version, target)
                    return { if let view { $0.graphQL.append(view) } }
                }
            }
        }
        if EngineIOProbe.url(for: url) != nil {
            await attempt("engineIO", atMost: .seconds(5)) { target in
                let view = await EngineIOProbe.run(target)
                return { $0.engineIO = view }
            }
        }
        guard let wire = upgraded else { return }
        var habits = ServerBehaviour()
        habits.pongs = await pings(wire)
        await attempt("close") { target in
            let view = await CloseProbe.run(wire, target)
            return { $0.close = view }
        }
        await wire.drop()
        await messages(&habits)
        await sizes(habits)
        await surroundings()
        if let idle {
            await attempt("idle") { target in
                let view = try await IdleProbe.run(idle, target)
                return { $0.idle = view }
            }
        }
    }

    private func upgrade() async -> Wire? {
        await notes.begin("upgrade")
        do {
            let wire = try await Wire.open(target)
            await notes.note { $0.upgrade = wire.view }
            return wire
        } catch {
            await notes.note { $0.upgrade = error.view }
            return nil
        }
    }

    private func pings(_ wire: Wire) async -> Bool? {
        await attempt("pings") { target in
            let view = await PingProbe.run(wire, target)
            return { $0.pings = view }
        }
        return await notes.observations.pings.map { $0.answered > 0 }
    }

    private func messages(_ habits: inout ServerBehaviour) async {
        for trial in Trial.allCases {
            await attempt(trial.rawValue) { [habits] target in
                let reaction = try await MessageProbe.run(trial, habits, target)
                return { $0[trial] = reaction }
            }
            if trial == .text { habits.echoes = await notes.observations[.text].map { $0.kind == .echoed } }
        }
    }

    private func sizes(_ habits: ServerBehaviour) async {
        if let compression = target.options.connection.compression {
            await attempt("compression") { target in
                let view = try await CompressionProbe.run(compression, habits, target)
                return { $0.compression = view }
            }
        }
        let seen = await notes.observations
        // A message kind that is echoed shows the most; otherwise pongs are used.
        let kinds: [(MessageKind, CloseReaction?)] = [(.binary, seen[.binary]), (.text, seen[.text])]
        let kind = kinds.first { $0.1?.kind == .echoed } ?? kinds.first { $0.1?.isSurvived == true && habits.pongs != false }
        guard let kind else { return await notes.fail("limit", "accepted messages get no answer, so the limit cannot be determined") }
        let habits = ServerBehaviour(pongs: habits.pongs, echoes: kind.1?.kind == .echoed)
        await attempt("limit", atMost: .seconds(20)) { target in
            let view = try await LimitProbe.run(kind.0, cap: limitCap, habits, target)
            return { $0.limit = view }
        }
    }

    private func surroundings() async {
        if target.options.url.socketPath == nil {
            await attempt("unknownPath") { target in
                let view = try await RequestProbe.unknownPath(target)
                return { $0.unknownPath = view }
            }
        }
        await attempt("wrongOrigin") { target in
            let view = await RequestProbe.wrongOrigin(target)
            return { $0.wrongOrigin = view }
        }
        await attempt("malformed") { target in
            let view = try await MalformedProbe.run(target)
            return { $0.malformed = view }
        }
    }

    /// Whether some address can be connected to; true if no lookup was done.
    private var isReachable: Bool {
        get async { await notes.observations.resolution.map { !$0.answering.isEmpty } ?? true }
    }

    private func attempt(
        _ probe: String, atMost limit: Duration? = nil, _ body: (ProbeTarget) async throws -> (inout Observations) -> Void
    ) async {
        guard target.hasTime else { return await notes.fail(probe, "there was no time left; see --timeout") }
        await notes.begin(probe)
        do {
            await notes.note(try await body(limit.map(target.within) ?? target))
        } catch {
            await notes.fail(probe, (error as? TransportError)?.detail ?? "\(error)")
        }
    }
}

/// The connection options of an examination, and its time limits.
struct ProbeTarget: Sendable {
    var options: ClientOptions
    /// The time limit for one answer.
    let patience: Duration
    /// The time limit for the whole examination.
    let end: ContinuousClock.Instant

    init(options: ClientOptions, patience: Duration, end: ContinuousClock.Instant) {
        (self.options, self.patience, self.end) = (options, patience, end)
        (self.options.connectTimeout, self.options.handshakeTimeout) = (patience, patience)
    }

    /// Whether there is time for another probe.
    var hasTime: Bool { ContinuousClock.now < end }

    /// Returns the time after the limit or the patience, but not later than the end.
    func deadline(_ limit: Duration? = nil) -> ContinuousClock.Instant { min(.now + (limit ?? patience), end) }

    /// Returns the same target with less time.
    func within(_ limit: Duration) -> ProbeTarget { ProbeTarget(options: options, patience: patience, end: deadline(limit)) }
}

extension ContinuousClock.Instant {
    /// The time left until this instant; zero once it has passed.
    var remaining: Duration { max(.zero, ContinuousClock.now.duration(to: self)) }
}

/// The failure of a probe.
struct ProbeFailure: Error, CustomStringConvertible { let description: String }

/// The observations so far, available when a signal arrives in the middle.
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
