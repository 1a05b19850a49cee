/// The interfaces over which packets to the rest of the world leave, read from Linux's table of IPv4 routes.
public enum DefaultRoutes {
    /// Reads the text of `/proc/net/route`; of several default routes only the one that is used counts.
    ///
    /// Source: `fib_route_seq_show` in Linux's net/ipv4/fib_trie.c.
    public static func interface(inRoutes text: String) -> String? {
        let rows = text.split(separator: "\n").dropFirst().map { $0.split(whereSeparator: { $0 == "\t" || $0 == " " }) }
        let defaults = rows.compactMap { row -> (name: String, metric: Int)? in
            guard row.count >= 8, row[1].allSatisfy({ $0 == "0" }), row[7].allSatisfy({ $0 == "0" }) else { return nil }
            guard let flags = Int(row[3], radix: 16), flags & 1 == 1, let metric = Int(row[6]) else { return nil }
            return (String(row[0]), metric)
        }
        return defaults.min { $0.metric < $1.metric }?.name
    }
}
