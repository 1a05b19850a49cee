import Foundation
import Holdfast

/// Holdfast as a peer: what the conformance, interop and benchmark scripts start; see `Interop/README.md`.
@main
enum HoldfastPeer {
    static let usage = """
        usage: HoldfastPeer echo-server [--tls-cert FILE --tls-key FILE]
               HoldfastPeer suite URL [--ca FILE] [--no-compression] [--lines]
               HoldfastPeer autobahn-client URL --agent NAME
               HoldfastPeer bench-client receive|send URL SIZE SECONDS
        """

    static func main() async throws {
        let arguments = Arguments(CommandLine.arguments.dropFirst())
        switch (arguments.words.first, arguments.words.count) {
        case ("echo-server", 1):
            try await EchoServer(certificate: arguments.options["--tls-cert"], key: arguments.options["--tls-key"]).run()
        case ("suite", 2):
            var suite = Suite(url: arguments.words[1], isLineBased: arguments.options["--lines"] != nil)
            if let file = arguments.options["--ca"] { suite.configuration.tls.trust = .file(file) }
            if arguments.options["--no-compression"] != nil { suite.configuration.compression = nil }
            exit(await suite.run() ? 0 : 1)
        case ("autobahn-client", 2):
            guard let agent = arguments.options["--agent"] else { fail() }
            try await AutobahnClient(url: arguments.words[1], agent: agent).run()
        case ("bench-client", 5):
            guard let mode = BenchClient.Mode(rawValue: arguments.words[1]), let size = Int(arguments.words[3]),
                let seconds = Double(arguments.words[4])
            else { fail() }
            try await BenchClient(mode: mode, url: arguments.words[2], size: size, seconds: seconds).run()
        default:
            fail()
        }
    }

    private static func fail() -> Never {
        FileHandle.standardError.write(Data((usage + "\n").utf8))
        exit(2)
    }
}
