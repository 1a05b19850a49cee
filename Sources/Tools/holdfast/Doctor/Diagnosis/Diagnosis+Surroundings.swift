extension Diagnosis {
    /// What names somebody between us and the server, and who that is.
    private static let marks: [(field: String, name: String)] = [
        ("cf-ray", "Cloudflare"), ("x-amz-cf-id", "Amazon CloudFront"), ("x-amzn-trace-id", "an Amazon load balancer"),
        ("x-served-by", "a cache (Fastly or Varnish)"), ("x-varnish", "Varnish"), ("x-azure-ref", "Azure Front Door"),
        ("x-envoy-upstream-service-time", "Envoy"), ("fly-request-id", "Fly.io"), ("x-vercel-id", "Vercel"), ("x-cache", "a cache"),
        ("x-proxy", "a proxy"), ("x-proxy-cache", "a caching proxy"), ("x-forwarded-server", "a proxy"),
    ]
    /// Servers that mostly stand in front of others.
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
            signs.append("Server: \(server), which mostly stands in front of another")
        }
        if let front = malformed?.server, upgrade.failure == nil, !upgrade.values("Server").contains(front) {
            let own = upgrade.values("Server").first.map { "calls itself \($0)" } ?? "does not give its name"
            signs.append("\(front) refuses a request without Host, and who opens the WebSocket \(own)")
        }
        guard !signs.isEmpty else { return [] }
        return [
            Finding(
                .surroundings, "intermediaries", .note, "somebody seems to stand between you and the server", details: signs,
                advice: "such proxies often end connections that are idle for a minute: see what --idle finds")
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
