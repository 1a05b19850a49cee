import HoldfastTesting
import WAMPCore

/// The parameters of a simulation: the number of clients, the speed and the faults.
struct SimPlan {
    /// A kind of fault.
    enum Fault: CaseIterable { case cut, halfOpen, slowLink, routerDies, routerStops, kill, revoke, reconnect }

    var clients = 3
    /// How long faults happen, in milliseconds.
    var faultDuration: Int64 = 15_000
    /// The kinds of faults that happen.
    var faults: [Fault] = []
    /// The mean time between two faults, in milliseconds.
    var faultEvery: Int64 = 1500
    /// The mean time between two actions of an app, in milliseconds.
    var actionEvery: Int64 = 150
    /// The maximum latency of a message, in milliseconds.
    var latency: Int64 = 40
    /// Whether clients have to authenticate.
    var isChallenged = false
    var historyLength = 0
    var quirks = RouterPolicy.Quirks()

    /// A plan without faults.
    init() {}

    init(using random: inout SeededGenerator) {
        clients = Int.random(in: 2...4, using: &random)
        faultDuration = Int64.random(in: 4000...20_000, using: &random)
        // Each kind is in half of the simulations, so that some lack a kind that hides others.
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
        // A client cannot notice a revocation that the router conceals.
        if quirks.concealsRevocation { faults.removeAll { $0 == .revoke } }
    }
}
