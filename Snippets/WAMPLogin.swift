// Who joins a realm, and how that is proven.
import HoldfastWAMP

actor Tokens {
    func fresh() async throws -> String { "sesame" }
}
let tokens = Tokens()

// snippet.TICKET
let client = WAMPClient(
    "wss://example.com/ws", realm: "realm1", authentication: .ticket(user: "ann") { try await tokens.fresh() })
// snippet.end

let (key, secret) = (CryptosignKey(), "hush")

// snippet.ANY
let either = WAMPAuthentication.any(of: .cryptosign(user: "ann", key: key), .cra(user: "ann", secret: secret))
// snippet.end

print(either)
do { print(try await client.joined(within: .seconds(10)).authRole ?? "as nobody in particular") } catch { print(error) }
await client.close()
