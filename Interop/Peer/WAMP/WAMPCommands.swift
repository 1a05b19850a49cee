import HoldfastWAMP

/// The commands of this program as a WAMP client; see `Interop/wamp`.
struct WAMPCommands {
    static let usage = """
               HoldfastPeer wamp suite URL REALM json|messagePack|cbor [--router crossbar|xconn]
               HoldfastPeer wamp history URL REALM
               HoldfastPeer wamp auth BASE-URL REALM
               HoldfastPeer wamp storm URL REALM
               HoldfastPeer wamp router PORT
               HoldfastPeer wamp calls|events|flood URL REALM SECONDS COUNT    (see Benchmarks/wamp)

        """

    let arguments: Arguments

    /// The exit status, or nil if the words are none of these commands.
    func run() async throws -> Int32? {
        let words = Array(arguments.words.dropFirst())
        switch (words.first, words.count) {
        case ("suite", 4):
            guard let serialization = WAMPSerialization(rawValue: words[3]) else { return nil }
            let router = WAMPSuite.Router(rawValue: arguments.options["--router"] ?? "holdfast")
            guard let router else { return nil }
            return try await WAMPSuite(url: words[1], realm: words[2], serialization: serialization, router: router).run() ? 0 : 1
        case ("history", 3):
            return try await WAMPSuite(url: words[1], realm: words[2], serialization: .messagePack, router: .crossbar).runHistory() ? 0 : 1
        case ("auth", 3): return await WAMPAuthSuite(base: words[1], realm: words[2]).run() ? 0 : 1
        case ("storm", 3): return try await WAMPStorm(url: words[1], realm: words[2]).run() ? 0 : 1
        case ("router", 2):
            guard let port = Int(words[1]) else { return nil }
            try await BareRouter.run(port: port)
            return 0
        case ("calls", 5), ("events", 5), ("flood", 5):
            guard let seconds = Double(words[3]), let count = Int(words[4]), count > 0 else { return nil }
            let bench = WAMPBench(url: words[1], realm: words[2], duration: .seconds(seconds))
            switch words[0] {
            case "calls": try await bench.calls(inFlight: count)
            case "events": try await bench.events(subscribers: count)
            default: try await WAMPFlood(bench: bench).run(subscribers: count)
            }
            return 0
        default: return nil
        }
    }
}
