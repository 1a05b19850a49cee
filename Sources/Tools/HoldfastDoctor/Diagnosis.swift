import Holdfast
import HoldfastTerminal

/// Derives findings from observations; contains only rules.
enum Diagnosis {
    /// Returns the findings in the order in which a connection is established.
    static func findings(of seen: Observations) -> [Finding] {
        let rules = [network, tls, upgrade, surroundings, graphQL, engineIO, pings, messages, compression, limit, close, idle]
        return rules.flatMap { $0(seen) }
    }

    static func network(_ seen: Observations) -> [Finding] {
        proxy(seen) + resolution(seen) + connection(seen)
    }

    private static func proxy(_ seen: Observations) -> [Finding] {
        guard let proxy = seen.proxy else { return [] }
        let source = proxy.isFromEnvironment ? "from the environment" : "from the command line"
        return [
            Finding(
                .network, "proxy", .note, "all connections go through the proxy \(proxy.url), \(source)",
                details: ["names, times and the path to the server are as the proxy sees them"],
                advice: proxy.isFromEnvironment ? "to see the server without it, use --no-proxy" : nil)
        ]
    }

    private static func resolution(_ seen: Observations) -> [Finding] {
        guard let found = seen.resolution else { return [] }
        let whose = seen.proxy == nil ? found.host : "the proxy's name \(found.host)"
        if let error = found.error {
            return [
                Finding(
                    .network, "unresolved", .broken, "\(whose) cannot be resolved: \(error)",
                    advice: "check the spelling of the name, and whether this machine's DNS works")
            ]
        }
        let details = found.addresses.map { address in
            let outcome = address.connectMs.map { "answered in \($0.msPhrase)" } ?? "no connection: \(address.error ?? "no reason known")"
            return "\(address.family)  \(address.address)  \(outcome)"
        }
        let count = "\(found.addresses.count) address\(found.addresses.count == 1 ? "" : "es")"
        guard !found.answering.isEmpty else {
            return [
                Finding(
                    .network, "unreachable", .broken, "\(whose) resolves to \(count), but none accepts connections", details: details,
                    advice: "check whether the server runs, whether the port is right, and whether a firewall is in between")
            ]
        }
        var findings = [
            Finding(.network, "resolved", .good, "\(whose) resolves to \(count), found in \(found.lookupMs.msPhrase)", details: details)
        ]
        if !found.deadFamilies.isEmpty {
            findings.append(
                Finding(
                    .network, "deadFamily", .warning,
                    "there are addresses of \(found.deadFamilies.joined(separator: " and ")), but none answers",
                    advice: "clients that try them first lose time; remove them from DNS, or enable that family on the server or in "
                        + "this network"))
        } else if found.answering.count < found.addresses.count {
            findings.append(
                Finding(
                    .network, "deadAddress", .warning, "\(found.addresses.count - found.answering.count) of \(count) do not answer",
                    advice: "clients that try them first lose time; remove dead ones from DNS"))
        }
        return findings
    }

    private static func connection(_ seen: Observations) -> [Finding] {
        guard let upgrade = seen.upgrade, let remote = upgrade.remote, let time = upgrade.connectMs else { return [] }
        let way = seen.proxy == nil ? "" : " through the proxy"
        return [Finding(.network, "connected", .good, "connected to \(remote)\(way) in \(time.msPhrase)")]
    }

    /// The number of days before its expiry from which a certificate causes a warning.
    static let soon = 14

    static func tls(_ seen: Observations) -> [Finding] {
        guard let security = seen.security else {
            guard seen.upgrade != nil, seen.url.hasPrefix("ws:") else { return [] }
            return [
                Finding(
                    .tls, "none", .note, "nothing is encrypted",
                    advice: "use wss: outside of trusted networks; many proxies also break ws: but leave wss: alone")
            ]
        }
        return trust(security) + version(security) + expiry(security) + weaknesses(security)
    }

    private static func trust(_ security: SecurityView) -> [Finding] {
        if let distrust = security.distrust {
            let rest = security.chain.isEmpty ? "" : "; --insecure examines the rest anyway"
            return [
                Finding(
                    .tls, distrust.code, .broken, distrust.text, details: chain(security),
                    advice: advice(distrust.code) + rest)
            ]
        }
        let leaf = security.chain.first
        let names = leaf.map { $0.names.prefix(8).joined(separator: ", ") + ($0.names.count > 8 ? ", …" : "") } ?? "no known names"
        if security.isUnverified {
            let text = "the chain was not checked (--insecure); it is for \(names)"
            return [Finding(.tls, "unverified", .warning, text, details: chain(security))]
        }
        return [Finding(.tls, "trusted", .good, "the certificate is trusted, and is for \(names)", details: chain(security))]
    }

    private static let identityAdvice =
        "present a client certificate that the server accepts: --cert and --key (TLSOptions.identity in an app)"

    private static func advice(_ code: String) -> String {
        switch code {
        case "certificateExpired": "renew the certificate on the server, and automate the renewal"
        case "wrongHost": "use a name in the certificate, or get a certificate for this name"
        case "unknownAuthority":
            "if the authority is yours, name it with --ca (TLSOptions.additionalRoots in an app); if it is public, send the whole chain"
        case "clientCertificateWanted", "clientCertificateRefused": identityAdvice
        default: "check whether this port uses TLS, in version 1.2 or later"
        }
    }

    private static func chain(_ security: SecurityView) -> [String] {
        security.chain.map { certificate in
            let name = certificate.subject.isEmpty ? "unnamed" : certificate.subject
            let issuer = certificate.isSelfIssued ? "itself" : certificate.issuer
            return "\(name), by \(issuer), \(certificate.notBefore) to \(certificate.notAfter), \(certificate.key), "
                + "\(certificate.signature), \(certificate.publicKeyPin)"
        }
    }

    private static func version(_ security: SecurityView) -> [Finding] {
        guard let version = security.version else { return [] }
        let http = security.choosesHTTP2 ? "the server also supports HTTP/2" : "the server does not choose HTTP/2 when it is offered"
        let time = security.handshakeMs.map { " in \($0.msPhrase)" } ?? ""
        if version == "1.3" { return [Finding(.tls, "version", .good, "TLS 1.3\(time)", details: [http])] }
        return [
            Finding(
                .tls, "version", .note, "TLS \(version)\(time): the server supports no later version", details: [http],
                advice: "TLS 1.3 saves a round trip for each connection; enable it if you can")
        ]
    }

    private static func expiry(_ security: SecurityView) -> [Finding] {
        guard security.distrust?.code != "certificateExpired", let first = security.chain.min(by: { $0.daysLeft < $1.daysLeft }) else {
            return []
        }
        let name = first == security.chain.first ? "the certificate" : "the chain's \(first.subject)"
        let words = first.daysLeft < 0 ? "\(name) expired on \(first.notAfter)" : "\(name) expires in \(first.daysLeft.counted("day"))"
        if first.daysLeft >= soon { return [Finding(.tls, "expiry", .good, words)] }
        return [Finding(.tls, "expiry", .warning, words, advice: "renew it now, and automate the renewal")]
    }

    private static func weaknesses(_ security: SecurityView) -> [Finding] {
        security.chain.filter { !$0.weaknesses.isEmpty }.map {
            Finding(
                .tls, "weak", .warning, "\($0.subject.isEmpty ? "a certificate" : $0.subject): \($0.weaknesses.joined(separator: ", "))",
                advice: "replace it: RSA of 2048 bits or P-256, signed with SHA-256")
        }
    }

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
                advice: "clients that need one will close; check its spelling, and whether a proxy drops Sec-WebSocket-Protocol")
        ]
    }

    private static func refusal(_ upgrade: UpgradeView, _ failure: UpgradeView.Failure) -> Finding {
        var details = upgrade.headers.map { "\($0.name): \($0.value)" }
        let body = failure.body.split(whereSeparator: \.isNewline).first.map { String($0.prefix(120)) }
        if let body { details.append("its body begins: \(body)") }
        return Finding(topic(of: failure, upgrade), failure.code, .broken, failure.text, details: details, advice: advice(upgrade, failure))
    }

    private static func topic(of failure: UpgradeView.Failure, _ upgrade: UpgradeView) -> Finding.Topic {
        // A server may reject a missing client certificate only after the TLS handshake.
        if WebSocketError.Code.trustFailures.contains(where: { $0.description == failure.code }) { return .tls }
        // If no socket was connected, the path to the server failed.
        let isWay = ["unresolved", "unreachable", "timedOut", "proxyFailed"].contains(failure.code)
        return isWay && upgrade.remote == nil ? .network : .upgrade
    }

    private static func advice(_ upgrade: UpgradeView, _ failure: UpgradeView.Failure) -> String? {
        switch (failure.code, upgrade.status) {
        case ("refused", 200?):
            "a web server answers here, but has no WebSocket at this path: check the path, and let proxies forward Upgrade"
        case ("refused", 301?), ("refused", 302?), ("refused", 303?), ("refused", 307?), ("refused", 308?):
            "examine \(upgrade.values("Location").first ?? "where it leads") instead, or let the app follow redirects"
        case ("refused", 401?): "it requires authentication: use --bearer or --header 'Authorization: …'"
        case ("refused", 403?): "it denies access: check the tokens, and the Origin that it expects (--header 'Origin: …')"
        case ("refused", 404?): "there is nothing at this path: check its spelling"
        case ("refused", 400?), ("refused", 426?):
            "it does not see an upgrade request: a proxy in between may drop Upgrade and Connection "
                + "(nginx: proxy_set_header Upgrade)"
        case ("refused", 429?):
            "it accepts no more connections from here for now" + (upgrade.values("Retry-After").first.map { "; Retry-After: \($0)" } ?? "")
        case ("refused", 502?), ("refused", 503?), ("refused", 504?):
            "the proxy in front cannot reach the server behind it, or that server is overloaded"
        case ("invalidHandshake", 101?): "the server, or a proxy on the way, does not follow RFC 6455 §4.2.2"
        case ("invalidHandshake", _): "something other than a web server listens there: check the port"
        case ("timedOut", _):
            "something accepts connections but does not answer: check the port, whether TLS is expected (wss:), and the server's load"
        case ("clientCertificateWanted", _), ("clientCertificateRefused", _): identityAdvice
        // A server may also hang up without a reason.
        case ("lost", _) where failure.text.contains("client certificate"): identityAdvice
        case ("lost", _):
            "something accepts connections and closes them: check the port, and whether TLS is expected (wss:)"
        case ("proxyFailed", _): "the proxy does not connect: check its rules, and the name and password; or use --no-proxy"
        default: nil
        }
    }

    /// Header fields that intermediaries add, and the names of these intermediaries.
    private static let marks: [(field: String, name: String)] = [
        ("cf-ray", "Cloudflare"), ("x-amz-cf-id", "Amazon CloudFront"), ("x-amzn-trace-id", "an Amazon load balancer"),
        ("x-served-by", "a cache (Fastly or Varnish)"), ("x-varnish", "Varnish"), ("x-azure-ref", "Azure Front Door"),
        ("x-envoy-upstream-service-time", "Envoy"), ("fly-request-id", "Fly.io"), ("x-vercel-id", "Vercel"), ("x-cache", "a cache"),
        ("x-proxy", "a proxy"), ("x-proxy-cache", "a caching proxy"), ("x-forwarded-server", "a proxy"),
    ]
    /// Servers that are usually reverse proxies.
    private static let fronts = [
        "nginx", "openresty", "cloudflare", "envoy", "istio-envoy", "awselb", "caddy", "traefik", "haproxy", "varnish", "apache",
    ]

    static func surroundings(_ seen: Observations) -> [Finding] {
        guard let upgrade = seen.upgrade else { return [] }
        return between(upgrade, seen.malformed) + (upgrade.failure == nil ? requests(seen) : [])
    }

    private static func between(_ upgrade: UpgradeView, _ malformed: MalformedView?) -> [Finding] {
        var signs = upgrade.values("Via").map { "Via: \($0)" }
        for (field, name) in marks {
            for value in upgrade.values(field) { signs.append("\(name) (\(field): \(value))") }
        }
        for server in upgrade.values("Server") where fronts.contains(where: { server.lowercased().hasPrefix($0) }) {
            signs.append("Server: \(server), which is usually in front of another server")
        }
        if let front = malformed?.server, upgrade.failure == nil, !upgrade.values("Server").contains(front) {
            let own = upgrade.values("Server").first.map { "calls itself \($0)" } ?? "does not give its name"
            signs.append("\(front) refuses a request without Host, but the server of the WebSocket \(own)")
        }
        guard !signs.isEmpty else { return [] }
        return [
            Finding(
                .surroundings, "intermediaries", .note, "there seems to be a proxy between you and the server", details: signs,
                advice: "such proxies often end connections that are idle for a minute: test this with --idle")
        ]
    }

    private static func requests(_ seen: Observations) -> [Finding] {
        var findings: [Finding] = []
        if let other = seen.unknownPath {
            findings.append(
                other.isAccepted
                    ? Finding(
                        .surroundings, "anyPath", .note, "a WebSocket is opened on any path", advice: "a mistyped URL will not be noticed")
                    : Finding(.surroundings, "unknownPath", .good, "an unknown path is refused" + status(other)))
        }
        if let other = seen.wrongOrigin {
            findings.append(
                other.isAccepted
                    ? Finding(
                        .surroundings, "anyOrigin", .note, "a page of any origin may connect",
                        advice: "if the server knows users by cookies, let it check Origin (RFC 6455 §10.2); with tokens this is harmless")
                    : Finding(.surroundings, "wrongOrigin", .good, "a wrong origin is refused" + status(other)))
        }
        return findings
    }

    private static func status(_ view: RequestView) -> String {
        view.status.map { " with \($0)" } ?? view.error.map { ": \($0)" } ?? ""
    }
}
