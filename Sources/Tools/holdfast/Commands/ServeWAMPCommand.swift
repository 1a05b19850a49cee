import ArgumentParser
import HoldfastRouter
import HoldfastServer

struct ServeWAMPCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wamp",
        abstract: "Serve a WAMP router: calls and topics, for development, tests and small services.",
        discussion: """
            A broker and a dealer in one process, at /ws and at /, for wamp.2.json, wamp.2.msgpack and wamp.2.cbor: what a client \
            offers first. It has patterns, shared registrations, progress, cancellation, timeouts, retained events, testaments and the \
            meta API. All is kept in memory, and ends with it. It checks strictly what clients send: who breaks the protocol is cut \
            off, and told why.

            Anonymous clients may join, as the role anonymous, unless users are given; with --anonymous also then. Secrets given as \
            options are seen by everybody on this machine: use --users for those that matter. Each line of that file is a method \
            (ticket, cra, or salted for CRA with a salt), a name, a secret, and perhaps a role, such as 'ticket ann sesame frontend'. \
            Beside it stands FILE.key, which is made if it is not there: salts follow from it, so that they stay the same.

            Who has joined may call the meta API, anonymous or not, and so end the sessions of others (wamp.session.kill): where that \
            matters, use --no-meta.

            --quirks makes the router behave as another one does, where that is known to trouble clients.

            The URL goes to standard output once the router listens, everything else to standard error. SIGINT (Control-C) and SIGTERM say \
            goodbye to every session and end the router with status 0; a second one ends it at once.
            """)

    @OptionGroup var serve: ServeOptions
    @OptionGroup var messages: ServeMessageOptions
    @OptionGroup var router: RouterOptions

    func run() async throws {
        var serve = serve
        serve.port = serve.port ?? 9001
        let runner = ServerRunner(serve)
        let log = runner.log
        try await runner.run { server, certificate in
            var server = server
            messages.apply(to: &server)
            let configuration = try router.configuration(server, log)
            let router = WAMPRouter(configuration)
            try await router.withRunning { running in
                StandardOutput.write(running.url("/ws") + "\n")
                let realms = configuration.policy.realms.map { $0.sorted().joined(separator: ", ") } ?? "any"
                log.note("for development, tests and small services; realms: \(realms.escapedOnOneLine); all is kept in memory")
                if let certificate { log.note("trust it with --ca \(certificate.certificateFile)") }
                _ = await Signals.firstEnding()
                let status = router.status
                let work = "\(status.calls.counted("call")) and \(status.events.counted("event"))"
                log.note("saying goodbye to \(status.sessions.counted("session")), after \(work)")
            }
        }
    }
}
