// A hub that takes the tokens of a login service, until SIGTERM.
import HoldfastHub

var configuration = HubConfiguration(data: "/var/lib/rooms")
configuration.server.host = "0.0.0.0"
configuration.server.port = 9001
configuration.retention.age = 365 * 86_400_000
configuration.perUser.connections = 8
configuration.isBehindProxy = true
configuration.origins = ["https://chat.example.org"]

var rules = TokenRules()
rules.audience = "rooms"
configuration.authority = try await TokenVerifier(
    files: [.set("/etc/rooms/keys.json")], rules: rules, logger: configuration.logger)

let hub = Hub(configuration)
try await hub.run()
