// One connection for all views of an app, open as long as one of them needs it.
import HoldfastWAMP

enum API {
    static let add = Procedure<(Int, Int), Int>("com.example.add")
}

// snippet.LEASE
let connector = WAMPConnector(closingAfter: .seconds(30)) { WAMPClient("ws://127.0.0.1:9001/", realm: "realm1") }
let lease = connector.lease()
print(try await lease.client.call(API.add, 23, 7))
// snippet.end
