extension Diagnosis {
    static func network(_ seen: Observations) -> [Finding] {
        proxy(seen) + resolution(seen) + connection(seen)
    }

    private static func proxy(_ seen: Observations) -> [Finding] {
        guard let proxy = seen.proxy else { return [] }
        let source = proxy.isFromEnvironment ? "which the environment names" : "as told"
        return [
            Finding(
                .network, "proxy", .note, "all goes through the proxy \(proxy.url), \(source)",
                details: ["names, times and what is said of the way are as the proxy has them"],
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
                    advice: "look whether the name is spelled right, and whether this machine's DNS works")
            ]
        }
        let details = found.addresses.map { address in
            let fate = address.connectMs.map { "answered in \($0.msPhrase)" } ?? "no connection: \(address.error ?? "no reason known")"
            return "\(address.family)  \(address.address)  \(fate)"
        }
        let count = "\(found.addresses.count) address\(found.addresses.count == 1 ? "" : "es")"
        guard !found.answering.isEmpty else {
            return [
                Finding(
                    .network, "unreachable", .broken, "\(whose) leads to \(count), and none takes connections", details: details,
                    advice: "look whether the server runs, whether the port is right, and whether a firewall is in between")
            ]
        }
        var findings = [
            Finding(.network, "resolved", .good, "\(whose) leads to \(count), found in \(found.lookupMs.msPhrase)", details: details)
        ]
        if !found.deadFamilies.isEmpty {
            findings.append(
                Finding(
                    .network, "deadFamily", .warning,
                    "there are addresses of \(found.deadFamilies.joined(separator: " and ")), and none answers",
                    advice: "clients that try them first lose time; take them out of DNS, or make the server, or this network, speak "
                        + "that family"))
        } else if found.answering.count < found.addresses.count {
            findings.append(
                Finding(
                    .network, "deadAddress", .warning, "\(found.addresses.count - found.answering.count) of \(count) do not answer",
                    advice: "clients that try them first lose time; take dead ones out of DNS"))
        }
        return findings
    }

    private static func connection(_ seen: Observations) -> [Finding] {
        guard let upgrade = seen.upgrade, let remote = upgrade.remote, let time = upgrade.connectMs else { return [] }
        let way = seen.proxy == nil ? "" : " by the proxy"
        return [Finding(.network, "connected", .good, "connected to \(remote)\(way) in \(time.msPhrase)")]
    }
}
