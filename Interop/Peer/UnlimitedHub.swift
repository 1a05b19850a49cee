import HoldfastHub
import RoomCore

/// `HoldfastPeer hub PORT DATA`: a hub without rate limits, for `Benchmarks/hub`.
enum UnlimitedHub {
    static func run(port: Int, data: String) async throws {
        var configuration = HubConfiguration(data: data)
        configuration.takesDevelopmentTokens = true
        configuration.server.port = port
        configuration.server.maximumConnections = 50_000
        let rate = HubPolicy.Rate(perSecond: 100_000_000, burst: 100_000_000)
        let bytes = HubPolicy.Rate(perSecond: 1 << 30, burst: 1 << 30)
        let allowance = HubPolicy.Allowance(
            messages: rate, bytes: bytes, joins: rate, ephemeral: bytes, pages: bytes, connections: 50_000, rooms: 1 << 30)
        configuration.policy.connection = allowance
        configuration.policy.user = allowance
        configuration.policy.address = allowance
        configuration.policy.frames = rate
        (configuration.policy.userDeliveries, configuration.policy.roomDeliveries, configuration.policy.deliveries) = (bytes, bytes, bytes)
        configuration.quotas = HubQuotas(userPerDay: nil, room: nil, free: 0)
        try await Hub(configuration).run()
    }
}
