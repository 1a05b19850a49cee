import Foundation
import Holdfast

/// Holdfast as a peer: what the conformance and interop scripts start; see `Interop/README.md`.
@main
enum HoldfastPeer {
    static let usage = """
        usage: HoldfastPeer echo-server [--tls-cert FILE --tls-key FILE]
               HoldfastPeer suite URL [--ca FILE] [--no-compression] [--lines]
               HoldfastPeer autobahn-client URL --agent NAME
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
        default:
            fail()
        }
    }

    private static func fail() -> Never {
        FileHandle.standardError.write(Data((usage + "\n").utf8))
        exit(2)
    }
}
