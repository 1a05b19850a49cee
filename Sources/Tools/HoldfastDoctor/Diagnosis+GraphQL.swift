extension Diagnosis {
    static func graphQL(_ seen: Observations) -> [Finding] {
        guard !seen.graphQL.isEmpty else { return [] }
        let names = seen.graphQL.map(\.subprotocol)
        let spoken = Finding(.graphQL, "spoken", .good, "the server takes the subprotocol of GraphQL: \(names.joined(separator: ", "))")
        return [spoken] + requirement(seen, names) + legacy(names) + seen.graphQL.flatMap { acknowledgement($0) + pings($0) + queries($0) }
    }

    private static func requirement(_ seen: Observations, _ names: [String]) -> [Finding] {
        guard let name = names.first, seen.upgrade?.failure != nil else { return [] }
        return [
            Finding(
                .graphQL, "required", .note, "it upgrades only if a client offers that subprotocol",
                advice: "examine it with --subprotocol \(name); a GraphQL client offers it")
        ]
    }

    private static func legacy(_ names: [String]) -> [Finding] {
        guard names == ["graphql-ws"] else { return [] }
        return [
            Finding(
                .graphQL, "legacy", .warning, "it speaks only the legacy protocol graphql-ws of subscriptions-transport-ws",
                advice: "that protocol has no pings, and is no longer maintained; let the server speak graphql-transport-ws too")
        ]
    }

    private static func acknowledgement(_ view: GraphQLView) -> [Finding] {
        if let refusal = view.refusal {
            return [
                Finding(
                    .graphQL, "refused", .note,
                    "\(view.subprotocol): it does not acknowledge connection_init without a payload: \(refusal)",
                    advice: "if it wants a token, give the client a payload: holdfast graphql query … --payload '{\"token\":\"…\"}'")
            ]
        }
        guard let time = view.acknowledgedMs else { return [] }
        let way = view.pingsEarly ? ", after a ping of its own" : ""
        return [Finding(.graphQL, "acknowledged", .good, "\(view.subprotocol): it acknowledged in \(time.msPhrase)\(way)")]
    }

    private static func pings(_ view: GraphQLView) -> [Finding] {
        guard view.acknowledgedMs != nil, view.subprotocol != "graphql-ws" else { return [] }
        if let time = view.pongMs { return [Finding(.graphQL, "pong", .good, "\(view.subprotocol): a pong after \(time.msPhrase)")] }
        return [
            Finding(
                .graphQL, "noPong", .warning, "\(view.subprotocol): it does not answer pings of the protocol",
                advice: "a client that sends them reconnects again and again: set pingInterval to nil, and use pings of the WebSocket")
        ]
    }

    private static func queries(_ view: GraphQLView) -> [Finding] {
        guard let answers = view.answersQuery else { return [] }
        var findings: [Finding] = []
        if answers {
            findings.append(Finding(.graphQL, "query", .good, "\(view.subprotocol): it answers queries on this connection"))
        } else {
            findings.append(
                Finding(
                    .graphQL, "noQuery", .note, "\(view.subprotocol): it does not answer queries on this connection",
                    advice: "send queries and mutations over HTTP, and only subscriptions here"))
        }
        guard let refusal = view.syntaxError else { return findings }
        if let code = refusal.closeCode {
            findings.append(
                Finding(
                    .graphQL, "closes", .note,
                    "\(view.subprotocol): it closes the connection because of a syntax error: \(code) \(refusal.text)",
                    advice: "one wrong operation interrupts all others; check operations before you ship them"))
        } else {
            findings.append(
                Finding(.graphQL, "syntax", .good, "\(view.subprotocol): it refuses a syntax error with a message: \(refusal.text)"))
        }
        return findings
    }
}
