// What an app does when a result is lost and the connection is cut, tested against a router that does so.
import HoldfastRouter
import HoldfastWAMP

// snippet.test
var configuration = WAMPRouterConfiguration()
configuration.server.port = 0
let router = WAMPRouter(configuration)
try await router.withRunning { running in
    let client = WAMPClient(running.url("/ws"), realm: "realm1")
    let echo = try await client.register("com.example.echo") { arguments, _ in arguments }

    router.faults.add(.drop(.result))
    do throws(WAMPError) {
        _ = try await client.call("com.example.echo", ["lost"], options: CallOptions(timeout: .milliseconds(500)))
    } catch {
        print("as it should: \(error)")
    }

    router.faults.add(.cut(.invocation))
    do throws(WAMPError) {
        _ = try await client.call("com.example.echo", ["cut"])
    } catch {
        print("as it should: \(error)")
    }

    let result = try await client.call("com.example.echo", ["again"])
    print("closed: \(try result.list)")
    echo.unregister()
    await client.close()
}
// snippet.end
