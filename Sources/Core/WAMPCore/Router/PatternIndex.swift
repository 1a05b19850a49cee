/// An index of entries by URI and pattern.
///
/// Prefixes are compared by characters, as in WAMP, "Prefix Matching": `com.app` matches `com.apple`, too.
struct PatternIndex<Entry: Sendable>: Sendable {
    private var exact: [String: Entry] = [:]
    private var prefixes: [String: Entry] = [:]
    /// The prefix lengths in UTF-8 bytes, and the number of prefixes of each, longest first.
    private var lengths: [(length: Int, count: Int)] = []
    private var wildcards = WildcardTree<Entry>()

    /// Creates an empty index.
    init() {}

    var isEmpty: Bool { exact.isEmpty && prefixes.isEmpty && wildcards.isEmpty }

    /// The entry of exactly this URI or pattern; nil removes it.
    subscript(uri: String, match: WAMPMatch) -> Entry? {
        get {
            switch match {
            case .exact: exact[uri]
            case .prefix: prefixes[uri]
            case .wildcard: wildcards[uri]
            }
        }
        set {
            switch match {
            case .exact: exact[uri] = newValue
            case .prefix:
                let had = prefixes[uri] != nil
                prefixes[uri] = newValue
                if had != (newValue != nil) { count(uri.utf8.count, by: had ? -1 : 1) }
            case .wildcard: wildcards[uri] = newValue
            }
        }
    }

    /// Returns all entries that match a URI, the best first.
    ///
    /// The exact entry comes before all others, then longer prefixes before shorter ones, and then wildcard patterns. Of these, the
    /// pattern with the longer run of named components before its first empty component comes first, and so on for later components.
    /// Source: WAMP, "Calls matching multiple registrations".
    func matches(of uri: String) -> [Entry] {
        var found: [Entry] = []
        forEachMatch(of: uri) {
            found.append($0)
            return true
        }
        return found
    }

    /// Returns the best entry for a URI.
    func best(for uri: String) -> Entry? {
        var found: Entry?
        forEachMatch(of: uri) {
            found = $0
            return false
        }
        return found
    }

    /// Whether there are any patterns.
    var hasPatterns: Bool { !prefixes.isEmpty || !wildcards.isEmpty }

    /// Returns the exact entry of a URI, ignoring patterns.
    func exactly(_ uri: String) -> Entry? { exact[uri] }

    /// Calls the body for each entry that matches a URI, the best first, until the body returns false.
    func forEachMatch(of uri: String, _ body: (Entry) -> Bool) {
        if let entry = exact[uri], !body(entry) { return }
        guard hasPatterns else { return }
        let size = uri.utf8.count
        for (length, _) in lengths where length <= size {
            // A prefix that ends within a character does not match.
            guard let prefix = String(uri.utf8.prefix(length)), let entry = prefixes[prefix] else { continue }
            guard body(entry) else { return }
        }
        wildcards.forEachMatch(of: uri, body)
    }

    private mutating func count(_ length: Int, by change: Int) {
        let place = lengths.firstIndex { $0.length <= length } ?? lengths.endIndex
        if place < lengths.endIndex, lengths[place].length == length {
            lengths[place].count += change
            if lengths[place].count == 0 { lengths.remove(at: place) }
        } else {
            lengths.insert((length, change), at: place)
        }
    }
}

/// The wildcard patterns, as a tree of their components.
///
/// Source: WAMP, "Wildcard Matching".
///
/// The code is not recursive, so long patterns of a peer cannot overflow the stack.
struct WildcardTree<Entry: Sendable>: Sendable {
    private struct Node: Sendable {
        let parent: Int
        let component: String
        var children: [String: Int] = [:]
        var entry: Entry?
    }
    /// The first node is the root.
    private var nodes = [Node(parent: 0, component: "")]
    private var free: [Int] = []

    /// Creates an empty tree.
    init() {}

    var isEmpty: Bool { nodes.count - free.count == 1 }

    /// The entry of this pattern; nil removes it.
    subscript(pattern: String) -> Entry? {
        get {
            var node = 0
            for component in Self.components(of: pattern) {
                guard let next = nodes[node].children[component] else { return nil }
                node = next
            }
            return nodes[node].entry
        }
        set {
            if let newValue { insert(newValue, under: pattern) } else { remove(pattern) }
        }
    }

    /// Calls the body for each entry that matches a URI, those with more named components at the start first, until the body returns false.
    func forEachMatch(of uri: String, _ body: (Entry) -> Bool) {
        guard !isEmpty else { return }
        let components = Self.components(of: uri)
        var open: [(node: Int, depth: Int)] = [(0, 0)]
        while let (node, depth) = open.popLast() {
            if depth == components.count {
                if let entry = nodes[node].entry, !body(entry) { return }
                continue
            }
            if let any = nodes[node].children[""] { open.append((any, depth + 1)) }
            guard !components[depth].isEmpty, let named = nodes[node].children[components[depth]] else { continue }
            open.append((named, depth + 1))
        }
    }

    private mutating func insert(_ entry: Entry, under pattern: String) {
        var node = 0
        for component in Self.components(of: pattern) {
            if let next = nodes[node].children[component] {
                node = next
                continue
            }
            let made = Node(parent: node, component: component)
            let place: Int
            if let reused = free.popLast() {
                (place, nodes[reused]) = (reused, made)
            } else {
                place = nodes.count
                nodes.append(made)
            }
            nodes[node].children[component] = place
            node = place
        }
        nodes[node].entry = entry
    }

    private mutating func remove(_ pattern: String) {
        var node = 0
        for component in Self.components(of: pattern) {
            guard let next = nodes[node].children[component] else { return }
            node = next
        }
        nodes[node].entry = nil
        while node != 0, nodes[node].children.isEmpty, nodes[node].entry == nil {
            let (parent, component) = (nodes[node].parent, nodes[node].component)
            nodes[parent].children[component] = nil
            nodes[node] = Node(parent: 0, component: "")
            free.append(node)
            node = parent
        }
        // Free memory that was once needed for many patterns.
        if isEmpty { self = WildcardTree() }
    }

    private static func components(of uri: String) -> [String] {
        uri.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { String(Substring($0)) }
    }
}
