import WAMPCore

/// An app with its client.
final class SimClient {
    /// A listener of the app.
    struct TopicListener {
        let key: TopicKey
        /// Whether it is subscribed, as far as the app was told.
        var isActive = false
        var hasBeenActive = false
        /// The last event on each connection of a publisher.
        var last: [UInt64: Int64] = [:]
        /// All publications that it received.
        var received: Set<Int64> = []
    }

    /// A procedure of the app.
    struct Procedure {
        let uri: String
        var isActive = false
    }

    /// A call or a publication that has not ended.
    struct Request {
        let isCall: Bool
        /// The number of the last progressive result.
        var parts: Int64 = 0
        var wantsProgress = false
    }

    let number: Int64
    var machine: ClientMachine
    /// How many machines the app has replaced.
    var life = 0
    var link: SimLink?
    var isConnecting = false
    var isJoined = false
    var hasLeft = false
    /// The machine has ended, and the app makes another.
    var isFinished = false
    var listeners: [UInt64: TopicListener] = [:]
    var procedures: [UInt64: Procedure] = [:]
    var requests: [UInt64: Request] = [:]
    /// Calls whose progressive input has not ended.
    var inParts: [UInt64] = []
    /// The call of each running invocation.
    var invocations: [UInt64: Int64] = [:]
    /// The number of published events.
    var published: Int64 = 0

    init(_ number: Int64, seed: UInt64) {
        self.number = number
        machine = ClientMachine(policy: Self.policy(number), seed: seed)
    }

    static func policy(_ number: Int64) -> ClientPolicy {
        ClientPolicy(realm: "world", authID: "client\(number)", authMethods: number == 1 ? ["ticket"] : ["ticket", "anonymous"])
    }
}
