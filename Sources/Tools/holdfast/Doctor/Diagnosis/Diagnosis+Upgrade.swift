import Holdfast

extension Diagnosis {
    static func upgrade(_ seen: Observations) -> [Finding] {
        guard let upgrade = seen.upgrade else { return [] }
        if let failure = upgrade.failure { return [refusal(upgrade, failure)] }
        let time = upgrade.answerMs.map { " in \($0.msPhrase)" } ?? ""
        let opened = Finding(
            .upgrade, "opened", .good, "\(upgrade.httpVersion ?? "HTTP") \(upgrade.status ?? 101)\(time)",
            details: upgrade.headers.map { "\($0.name): \($0.value)" })
        return [opened] + subprotocol(upgrade)
    }

    private static func subprotocol(_ upgrade: UpgradeView) -> [Finding] {
        let offered = upgrade.subprotocolsOffered
        guard !offered.isEmpty else { return [] }
        if let chosen = upgrade.subprotocol {
            let text = "the server chose the subprotocol \(chosen) of \(offered.joined(separator: ", "))"
            return [Finding(.upgrade, "subprotocol", .good, text)]
        }
        return [
            Finding(
                .upgrade, "subprotocolIgnored", .warning, "the server chose none of the subprotocols \(offered.joined(separator: ", "))",
                advice: "clients that need one will close; look how it is spelled, and whether a proxy drops Sec-WebSocket-Protocol")
        ]
    }

    private static func refusal(_ upgrade: UpgradeView, _ failure: UpgradeView.Failure) -> Finding {
        var details = upgrade.headers.map { "\($0.name): \($0.value)" }
        let body = failure.body.split(whereSeparator: \.isNewline).first.map { String($0.prefix(120)) }
        if let body { details.append("its body begins: \(body)") }
        return Finding(topic(of: failure, upgrade), failure.code, .broken, failure.text, details: details, advice: advice(upgrade, failure))
    }

    private static func topic(of failure: UpgradeView.Failure, _ upgrade: UpgradeView) -> Finding.Topic {
        // A server may say only after TLS that it wants to see a certificate.
        if WebSocketError.Code.trustFailures.contains(where: { $0.description == failure.code }) { return .tls }
        // Without a socket it was the way that failed.
        let isWay = ["unresolved", "unreachable", "timedOut", "proxyFailed"].contains(failure.code)
        return isWay && upgrade.remote == nil ? .network : .upgrade
    }

    private static func advice(_ upgrade: UpgradeView, _ failure: UpgradeView.Failure) -> String? {
        switch (failure.code, upgrade.status) {
        case ("refused", 200?):
            "a web server answers here, and knows nothing of WebSocket at this path: look at the path, and let a proxy pass Upgrade on"
        case ("refused", 301?), ("refused", 302?), ("refused", 303?), ("refused", 307?), ("refused", 308?):
            "examine \(upgrade.values("Location").first ?? "where it leads") instead, or have the app follow redirects"
        case ("refused", 401?): "it wants to know who you are: --bearer or --header 'Authorization: …'"
        case ("refused", 403?): "it does not want you: look at tokens, and at the Origin that it expects (--header 'Origin: …')"
        case ("refused", 404?): "nothing is served at this path: look how it is spelled"
        case ("refused", 400?), ("refused", 426?):
            "it does not take the request for an upgrade: a proxy in between may drop Upgrade and Connection "
                + "(nginx: proxy_set_header Upgrade)"
        case ("refused", 429?):
            "it takes no more connections from here for now" + (upgrade.values("Retry-After").first.map { "; Retry-After: \($0)" } ?? "")
        case ("refused", 502?), ("refused", 503?), ("refused", 504?):
            "the proxy in front does not reach the server behind it, or that is overloaded"
        case ("invalidHandshake", 101?): "the server, or a proxy on the way, does not follow RFC 6455 §4.2.2"
        case ("invalidHandshake", _): "something else than a web server listens there: look at the port"
        case ("timedOut", _):
            "something takes connections and says nothing: look at the port, whether TLS is expected (wss:), and at the server's load"
        case ("lost", _):
            "something takes connections and hangs up: look at the port, and whether TLS is expected (wss:)"
        case ("proxyFailed", _): "the proxy does not open the way: look at its rules, and at name and password; or use --no-proxy"
        case ("clientCertificateWanted", _), ("clientCertificateRefused", _):
            "doctor shows no certificate of its own: an app can, with TLSOptions.identity"
        default: nil
        }
    }
}
