import Foundation
import Holdfast
import HoldfastQuotes
import HoldfastServer
import HoldfastSocketIO

/// The peer program for the conformance and interop scripts; see `Interop/README.md`.
@main
enum HoldfastPeer {
    static let usage = """
        usage: HoldfastPeer echo-server [--tls-cert FILE --tls-key FILE] [--http2]
               HoldfastPeer survive SERVER… --log FILE --cuts N --rounds N [--seed N]
               HoldfastPeer cycles SERVER… --log FILE --count N
               HoldfastPeer survive-server --port N
               HoldfastPeer board URL --posts N --log FILE   (see Interop/board)
               HoldfastPeer suite URL [--ca FILE] [--no-compression] [--lines] [--http2]
               HoldfastPeer autobahn-client URL --agent NAME [--ca FILE] [--http2]
               HoldfastPeer codecs        (see Interop/codecs)
               HoldfastPeer room-frames   (see Interop/rooms/frames.py)
               HoldfastPeer hub PORT DATA (see Benchmarks/hub)
               HoldfastPeer quotes URL json|msgpack|protobuf SECONDS BUSY-MILLISECONDS
               HoldfastPeer rooms-client URL --name NAME --rooms R,R --store DIRECTORY --history FILE --pause MILLISECONDS
               HoldfastPeer rooms-log DIRECTORY --rooms R,R --history FILE
               HoldfastPeer rooms-judge HISTORY… [--least NAME=N,NAME=N]
               HoldfastPeer graphql-rows STRAWBERRY-PORT ARIADNE-PORT SCRIPTED-PORT     (see Interop/graphql)
               HoldfastPeer graphql-cuts FILE PYTHON SCRIPT --cuts N --kills N
               HoldfastPeer graphql-read URL --subscriptions N --events N     (see Benchmarks/graphql)
               HoldfastPeer socketio-rows PORT TRANSPORT --protocol 4|5
               HoldfastPeer socketio-cuts FILE PYTHON SCRIPT TRANSPORT --protocol 4|5 --cuts N --kills N
               HoldfastPeer socketio-measure URL receive|send|ask --events N     (see Benchmarks/socketio)
               HoldfastPeer documents-oracle NODE SCRIPT --programs N [--seed N]     (see Interop/documents)
               HoldfastPeer documents-edit URL ROOM NAME COUNT
               HoldfastPeer documents-bench trace|updates|memory FILE | state TRACE FILE | random N     (see Benchmarks/documents)
               HoldfastPeer paths URL     (Linux)

        """ + WAMPCommands.usage + StoreCommands.usage

    static func main() async throws {
        let arguments = Arguments(CommandLine.arguments.dropFirst())
        switch (arguments.words.first, arguments.words.count) {
        case ("echo-server", 1):
            var server = EchoServer(certificate: arguments.options["--tls-cert"], key: arguments.options["--tls-key"])
            server.configuration.httpVersion = version(arguments)
            try await server.run()
        case ("survive", 2...):
            guard let cuts = arguments.number("--cuts"), let rounds = arguments.number("--rounds") else { fail() }
            let seed = arguments.number("--seed").map(UInt64.init) ?? .random(in: 0...UInt64(UInt32.max))
            exit(await SurviveRun(server: try server(arguments), cuts: cuts, rounds: rounds, seed: seed).run() ? 0 : 1)
        case ("cycles", 2...):
            guard let count = arguments.number("--count") else { fail() }
            exit(await Cycles(server: try server(arguments), count: count).run() ? 0 : 1)
        case ("board", 2):
            guard let posts = arguments.number("--posts"), let log = arguments.options["--log"] else { fail() }
            exit(await BoardRun(url: arguments.words[1], posts: posts, log: log).run() ? 0 : 1)
        case ("graphql-rows", 4):
            let ports = arguments.words.dropFirst().compactMap { Int($0) }
            guard ports.count == 3 else { fail() }
            exit(await GraphQLRows(strawberry: ports[0], ariadne: ports[1], scripted: ports[2]).run() ? 0 : 1)
        case ("graphql-cuts", 4):
            guard let cuts = arguments.number("--cuts"), let kills = arguments.number("--kills") else { fail() }
            let run = GraphQLCuts(file: arguments.words[1], command: Array(arguments.words.suffix(2)), cuts: cuts, kills: kills)
            exit(try await run.run() ? 0 : 1)
        case ("graphql-read", 2):
            guard let subscriptions = arguments.number("--subscriptions"), let events = arguments.number("--events") else { fail() }
            try await GraphQLReading(url: arguments.words[1], subscriptions: subscriptions, events: events).run()
        case ("socketio-rows", 3):
            guard let port = Int(arguments.words[1]), let transport = SocketIOTransport(rawValue: arguments.words[2]),
                let version = arguments.number("--protocol").flatMap(SocketIOVersion.init)
            else { fail() }
            exit(await SocketIORows(port: port, transport: transport, version: version).run() ? 0 : 1)
        case ("socketio-cuts", 5):
            guard let cuts = arguments.number("--cuts"), let kills = arguments.number("--kills"),
                let transport = SocketIOTransport(rawValue: arguments.words[4]),
                let version = arguments.number("--protocol").flatMap(SocketIOVersion.init)
            else { fail() }
            let run = SocketIOCuts(
                file: arguments.words[1], command: Array(arguments.words[2...3]), cuts: cuts, kills: kills, transport: transport,
                version: version)
            exit(try await run.run() ? 0 : 1)
        case ("socketio-measure", 3):
            guard let events = arguments.number("--events") else { fail() }
            try await SocketIOMeasure(url: arguments.words[1], kind: arguments.words[2], events: events).run()
        case ("documents-oracle", 2...):
            guard let programs = arguments.number("--programs") else { fail() }
            let seed = arguments.number("--seed").map(UInt64.init) ?? .random(in: 0...UInt64(UInt32.max))
            exit(try OracleRun(command: Array(arguments.words.dropFirst()), seed: seed, programs: programs).run() ? 0 : 1)
        case ("documents-edit", 5):
            guard let count = Int(arguments.words[4]) else { fail() }
            var editor = DocumentEditor(url: arguments.words[1], room: arguments.words[2], name: arguments.words[3], count: count)
            try await editor.run()
        case ("documents-bench", 3...):
            guard try DocumentBench.run(Array(arguments.words.dropFirst())) else { fail() }
        case ("survive-server", 1):
            guard let port = arguments.number("--port") else { fail() }
            try await SurviveServer(port: port).run()
        case ("suite", 2):
            var suite = Suite(url: arguments.words[1], isLineBased: arguments.options["--lines"] != nil)
            if let file = arguments.options["--ca"] { suite.configuration.tls.trust = .file(file) }
            suite.configuration.httpVersion = version(arguments)
            if arguments.options["--no-compression"] != nil { suite.configuration.compression = nil }
            exit(await suite.run() ? 0 : 1)
        case ("autobahn-client", 2):
            guard let agent = arguments.options["--agent"] else { fail() }
            var client = AutobahnClient(url: arguments.words[1], agent: agent)
            if let file = arguments.options["--ca"] { client.configuration.tls.trust = .file(file) }
            client.configuration.httpVersion = version(arguments)
            try await client.run()
        case ("codecs", 1): CodecExchange.run()
        case ("room-frames", 1): RoomFrameExchange.run()
        case ("store", 2...):
            guard let status = await StoreCommands(arguments: arguments).run() else { fail() }
            exit(status)
        case ("hub", 3):
            guard let port = Int(arguments.words[1]) else { fail() }
            try await UnlimitedHub.run(port: port, data: arguments.words[2])
        case ("quotes", 5):
            let words = arguments.words
            guard let encoding = QuotesEncoding(rawValue: words[2]), let seconds = Double(words[3]), let busy = Int(words[4]) else {
                fail()
            }
            exit(await QuotesReader(url: words[1], encoding: encoding, seconds: seconds, busyMilliseconds: busy).run() ? 0 : 1)
        case ("rooms-client", 2):
            guard let name = arguments.options["--name"], let store = arguments.options["--store"],
                let history = arguments.options["--history"], let pause = arguments.number("--pause")
            else { fail() }
            let client = RoomsChaosClient(
                url: arguments.words[1], name: name, rooms: rooms(arguments), directory: store, history: history,
                pause: .milliseconds(pause))
            try await client.run()
        case ("rooms-log", 2):
            guard let history = arguments.options["--history"] else { fail() }
            try await LogDump.run(arguments.words[1], rooms: rooms(arguments), history: history)
        case ("rooms-judge", 2...):
            exit(HistoryJudge.run(Array(arguments.words.dropFirst()), least: arguments.options["--least"] ?? "") ? 0 : 1)
        case ("wamp", 2...):
            guard let status = try await WAMPCommands(arguments: arguments).run() else { fail() }
            exit(status)
        #if os(Linux)
            case ("paths", 2): await PathReport(url: arguments.words[1]).run()
        #endif
        default:
            fail()
        }
    }

    private static func rooms(_ arguments: Arguments) -> [String] {
        (arguments.options["--rooms"] ?? "").split(separator: ",").map { String($0) }
    }

    private static func version(_ arguments: Arguments) -> HTTPVersion { arguments.options["--http2"] == nil ? .http1 : .http2 }

    private static func server(_ arguments: Arguments) throws -> ServerProcess {
        guard let log = arguments.options["--log"] else { fail() }
        return try ServerProcess(Array(arguments.words.dropFirst()), log: log)
    }

    private static func fail() -> Never {
        FileHandle.standardError.write(Data((usage + "\n").utf8))
        exit(2)
    }
}
