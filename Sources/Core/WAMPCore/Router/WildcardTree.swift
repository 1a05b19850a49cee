/// Patterns with places left empty, as a tree of their components.
///
/// Source: WAMP, "Wildcard Matching".
///
/// Nothing here calls itself, so that a peer's long patterns never use up the stack.
struct WildcardTree<Entry: Sendable>: Sendable {
    private struct Node: Sendable {
        let parent: Int
        let component: String
        var children: [String: Int] = [:]
        var entry: Entry?
    }
    /// The first is the root.
    private var nodes = [Node(parent: 0, component: "")]
    private var free: [Int] = []

    /// No patterns.
    init() {}

    var isEmpty: Bool { nodes.count - free.count == 1 }

    /// The entry under this pattern; nil removes it.
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

    /// Goes through all entries that match a URI, those named further at the start first, until the body returns false.
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
        // What was once needed for many patterns is given back.
        if isEmpty { self = WildcardTree() }
    }

    private static func components(of uri: String) -> [String] {
        uri.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { String(Substring($0)) }
    }
}
