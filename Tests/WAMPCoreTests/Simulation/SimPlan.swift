import HoldfastTesting
import WAMPCore

/// What a seed makes of a world: how many are in it, how fast it is, and which misfortunes happen.
struct SimPlan {
    /// A misfortune.
    enum Fault: CaseIterable { case cut, halfOpen, slowLink, routerDies, routerStops, kill, revoke, reconnect }

    var clients = 3
    /// How long the world is hostile, in milliseconds.
    var hostile: Int64 = 15_000
    /// Which faults happen.
    var faults: [Fault] = []
    /// The mean time between two of them, in milliseconds.
    var faultEvery: Int64 = 1500
    /// The mean time between two things that an app does.
    var actionEvery: Int64 = 150
    /// How long a message takes at most.
    var latency: Int64 = 40
    /// Whether clients have to prove who they are.
    var isChallenged = false
    var historyLength = 0
    var quirks = RouterPolicy.Quirks()

    /// No faults.
    init() {}

    init(using random: inout SeededGenerator) {
        clients = Int.random(in: 2...4, using: &random)
        hostile = Int64.random(in: 4000...20_000, using: &random)
        // Each fault in half of all worlds, so that there are worlds without those that hide others.
        faults = Fault.allCases.filter { _ in Bool.random(using: &random) }
        faultEvery = Int64.random(in: 300...4000, using: &random)
        actionEvery = Int64.random(in: 20...400, using: &random)
        latency = Int64.random(in: 1...150, using: &random)
        isChallenged = Bool.random(using: &random)
        historyLength = Bool.random(using: &random) ? Int.random(in: 1...20, using: &random) : 0
        switch Int.random(in: 0..<4, using: &random) {
        case 0: quirks = .crossbar
        case 1: quirks = .nexus
        default: break
        }
        // Nobody can know of what is taken away in silence.
        if quirks.concealsRevocation { faults.removeAll { $0 == .revoke } }
    }
}
