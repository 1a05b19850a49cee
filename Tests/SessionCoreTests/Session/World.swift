import HoldfastTesting
import MachineCore
import SessionCore
import WebSocketCore

/// The surroundings of a session: a server with failures, a network, a credential provider and an app's life.
///
/// All events are random from the seed. Connections are stored by generation, so that two at once are noticed.
struct World: Machine {
    /// The effects of the session.
    typealias Input = Session.Effect
    /// The inputs of the session.
    typealias Effect = Session.Input

    /// How the server answers an attempt.
    enum Server: CaseIterable { case answers, answersSlowly, refuses, isSilent, isOverloaded, rejectsCredentials }
    /// A connection or an attempt.
    struct Link {
        var isOpen = false
        var isHalfOpen = false
        var isClosing = false
    }

    var random: SeededGenerator
    /// The end of the failures.
    let failuresUntil: Moment
    var server = Server.answers
    var links: [UInt64: Link] = [:]
    var hasNetwork = true
    var isForeground = true
    var isRunning = true
    /// Whether the server accepts the newest credential.
    var isCredentialGood = false
    var agenda: [(at: Moment, event: Event)] = []
    var mostOpen = 0
    var mail = Mail()

    enum Event {
        /// The session gets this input.
        case notify(Session.Input)
        /// The attempt is answered.
        case answer(UInt64)
        /// The connection ends with this loss.
        case end(UInt64, Loss)
        /// The connection dies silently.
        case fallSilent(UInt64)
        /// A closing handshake ends.
        case closed(UInt64)
        /// The surroundings change.
        case change
        /// The app sends or withdraws messages.
        case mail
        /// The connection answers for a message.
        case handOver(UInt64, isTaken: Bool)
    }

    init(seed: UInt64, failuresUntil: Moment) {
        (random, self.failuresUntil) = (SeededGenerator(seed: seed), failuresUntil)
        agenda = [(.start + .seconds(1), .change), (.start, .mail)]
    }

    var deadline: Moment? { agenda.map(\.at).min() }

    mutating func handle(_ order: Session.Effect, at now: Moment, into effects: inout [Session.Input]) {
        switch order {
        case .connect(let attempt): startAttempt(attempt.generation, at: now)
        case .disconnect(let generation, _), .retire(let generation):
            links[generation]?.isClosing = true
            plan(.closed(generation), after: .milliseconds(50), at: now)
            answerInTime(generation, at: now)
        case .abandon:
            for generation in links.keys { answerInTime(generation, at: now) }
            links = [:]
        case .probe(let generation):
            guard links[generation]?.isHalfOpen == true else { return }
            plan(.end(generation, Loss(.unresponsive)), after: .seconds(10), at: now)
        case .fetchCredential(let number): provide(number, at: now)
        case .transmit(let id, let generation): carry(id, over: generation, at: now)
        case .recall(let id): recall(id, at: now)
        case .cancelFetch, .setPingInterval, .report, .refused, .backlog: break
        }
    }

    mutating func wake(at now: Moment, into effects: inout [Session.Input]) {
        let due = agenda.filter { $0.at <= now }.sorted { $0.at < $1.at }
        agenda.removeAll { $0.at <= now }
        for (_, event) in due { apply(event, at: now, into: &effects) }
    }

    mutating func plan(_ event: Event, after delay: Duration, at now: Moment) { agenda.append((now + delay, event)) }

    mutating func chance(_ oneIn: Int) -> Bool { Int.random(in: 0..<oneIn, using: &random) == 0 }

    mutating func duration(_ range: ClosedRange<Double>) -> Duration { .seconds(Double.random(in: range, using: &random)) }

    // MARK: - Connections

    private mutating func startAttempt(_ generation: UInt64, at now: Moment) {
        links[generation] = Link()
        plan(.answer(generation), after: server == .answersSlowly ? duration(1...9) : duration(0.01...0.3), at: now)
    }

    private mutating func answer(_ generation: UInt64, at now: Moment, into effects: inout [Session.Input]) {
        guard let link = links[generation], !link.isClosing else { return }
        guard hasNetwork else { return end(generation, Loss(.unreachable), at: now, into: &effects) }
        switch server {
        case .refuses: end(generation, Loss(.unreachable), at: now, into: &effects)
        case .isSilent: plan(.end(generation, Loss(.timedOut)), after: .seconds(10), at: now)
        case .isOverloaded:
            let after: Duration = chance(2) ? .seconds(Int.random(in: 1...400, using: &random)) : .zero
            end(generation, Loss(.refused(status: 503), retryAfter: after == .zero ? nil : after), at: now, into: &effects)
        case .rejectsCredentials where !isCredentialGood: end(generation, Loss(.refused(status: 401)), at: now, into: &effects)
        case .answers, .answersSlowly, .rejectsCredentials:
            links[generation]?.isOpen = true
            mostOpen = max(mostOpen, links.values.count { $0.isOpen && !$0.isClosing })
            effects.append(.opened(generation: generation))
            if now < failuresUntil { planLoss(generation, at: now) }
        }
    }

    /// Every connection ends at some time.
    private mutating func planLoss(_ generation: UInt64, at now: Moment) {
        let life = chance(3) ? duration(0.1...9) : duration(10...2000)
        if chance(3) { return plan(.fallSilent(generation), after: life, at: now) }
        let causes: [LossCause] = [.lost, .lost, .closed(.goingAway), .closed(.serviceRestart), .stalled, .closed(.policyViolation)]
        plan(.end(generation, Loss(causes.randomElement(using: &random) ?? .lost)), after: life, at: now)
        // A second error of the same connection must be ignored.
        if chance(2) { plan(.end(generation, Loss(.lost)), after: life + .milliseconds(1), at: now) }
    }

    private mutating func end(_ generation: UInt64, _ loss: Loss, at now: Moment, into effects: inout [Session.Input]) {
        links[generation] = nil
        // The answer for a handed-over message arrives before or after the loss.
        let isFirst = chance(2)
        if isFirst { answerNow(generation, into: &effects) } else { answerInTime(generation, at: now) }
        effects.append(.lost(generation: generation, loss))
    }

    // MARK: - Everything else

    private mutating func provide(_ number: UInt64, at now: Moment) {
        let delay = duration(0.01...2)
        if now < failuresUntil, chance(20) { return }  // The provider never answers.
        if now < failuresUntil, chance(10) {
            return plan(.notify(.credentialFailed(fetch: number, isRetryable: true)), after: delay, at: now)
        }
        isCredentialGood = true
        let life: Duration? = chance(2) ? nil : duration(1...3600)
        plan(.notify(.credentialProvided(fetch: number, expiresIn: life)), after: delay, at: now)
    }

    private mutating func apply(_ event: Event, at now: Moment, into effects: inout [Session.Input]) {
        switch event {
        case .notify(let input): effects.append(input)
        case .answer(let generation): answer(generation, at: now, into: &effects)
        case .end(let generation, let loss): end(generation, loss, at: now, into: &effects)
        case .fallSilent(let generation):
            guard links[generation] != nil else { return }
            links[generation]?.isHalfOpen = true
            // The heartbeat detects it after 20 s of silence and 10 s without a pong.
            plan(.end(generation, Loss(.unresponsive)), after: duration(10...30), at: now)
        case .closed(let generation): links[generation] = nil
        case .change: change(at: now, into: &effects)
        case .mail: sendMail(at: now, into: &effects)
        case .handOver(let id, let isTaken): answer(id, isTaken: isTaken, into: &effects)
        }
    }

    private mutating func change(at now: Moment, into effects: inout [Session.Input]) {
        guard now < failuresUntil else { return restore(into: &effects) }
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1, 2: server = Server.allCases.randomElement(using: &random) ?? .answers
        case 3: isCredentialGood = false
        case 4: toggleNetwork(into: &effects)
        case 5:
            // A network that flaps.
            for _ in 0..<Int.random(in: 1...20, using: &random) { toggleNetwork(into: &effects) }
        case 6: changeAppLife(into: &effects)
        case 7: effects.append([.start, .disconnect, .reconnectNow].randomElement(using: &random) ?? .start)
        case 8:
            // The user presses buttons many times.
            for _ in 0..<Int.random(in: 1...10, using: &random) {
                effects.append([.start, .disconnect, .reconnectNow].randomElement(using: &random) ?? .start)
            }
        default:
            if hasNetwork { effects.append(chance(2) ? .path(.betterPathAvailable) : .path(.notViable)) }
        }
        plan(.change, after: chance(4) ? duration(0.001...2) : duration(1...120), at: now)
    }

    private mutating func toggleNetwork(into effects: inout [Session.Input]) {
        hasNetwork.toggle()
        let path = NetworkPath(chance(2) ? .wifi : .cellular, interface: "en\(Int.random(in: 0...2, using: &random))")
        effects.append(.path(hasNetwork ? .satisfied(path) : .unsatisfied))
    }

    private mutating func changeAppLife(into effects: inout [Session.Input]) {
        switch (isForeground, isRunning) {
        case (true, true):
            isForeground = false
            effects.append(.life(.background))
        case (false, true) where chance(2):
            isRunning = false
            effects.append(.life(.suspended))
        default:
            (isForeground, isRunning) = (true, true)
            effects.append(.life(.foreground))
        }
    }

    private mutating func restore(into effects: inout [Session.Input]) {
        server = .answers
        if !hasNetwork { toggleNetwork(into: &effects) }
        if !isForeground { effects.append(.life(.foreground)) }
        (isForeground, isRunning) = (true, true)
        effects.append(.start)  // An app that had disconnected connects again.
    }
}
