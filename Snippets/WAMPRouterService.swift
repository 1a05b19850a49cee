// A router in a service of your own: who may join, and who may do what.
import HoldfastRouter

var users = WAMPUsers(anonymousRole: "guest")
users.add("ann", .ticket("sesame"), role: "editor")
users.add("bob", .cra(CRASecret("hush")))

var configuration = WAMPRouterConfiguration(policy: RouterPolicy(realms: ["realm1"], allowsKilling: true, historyLength: 100))
configuration.authenticator = users
configuration.authorization = { session, action, uri, match in
    if session.authRole == "editor" { return .allowed }
    let isOfChat = uri.hasPrefix("com.example.chat.")
    return switch action {
    case .subscribe: match == .exact || isOfChat ? .allowed : .denied
    case .call: uri.hasPrefix("wamp.session.kill") ? .denied : .allowed
    case .publish, .register: isOfChat ? .allowed : .denied
    }
}
configuration.server.port = 9001
let router = WAMPRouter(configuration)
// snippet.hide
try await router.withRunning { running in
    print("listens at \(running.url("/ws"))")
    try await Task.sleep(for: .seconds(3600))
}
