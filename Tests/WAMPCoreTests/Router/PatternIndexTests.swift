import MachineCore
import Testing

@testable import WAMPCore

/// WAMP, "Pattern-based Subscription" and "Pattern-based Registrations".
@Suite struct PatternIndexTests {
    private var index = PatternIndex<Int>()

    @Test("a prefix is compared by characters, not by components") mutating func prefixes() {
        index["com.myapp.topic.emergency", .prefix] = 1
        for uri in ["11", "-low", ".category.severe", ""].map({ "com.myapp.topic.emergency" + $0 }) {
            #expect(index.matches(of: uri) == [1], "\(uri)")
        }
        #expect(index.matches(of: "com.myapp.topic.emerge").isEmpty)
    }

    @Test("an empty component of a wildcard matches any one component") mutating func wildcards() {
        index["com.myapp..userevent", .wildcard] = 1
        for name in ["foo", "bar", "a12"] { #expect(index.best(for: "com.myapp.\(name).userevent") == 1) }
        for uri in ["com.myapp.foo.userevent.bar", "com.myapp.foo.user", "com.myapp2.foo.userevent", "com.myapp.userevent"] {
            #expect(index.best(for: uri) == nil, "\(uri)")
        }
    }

    @Test("a call goes to the best match, as in the examples of the specification") mutating func precedence() {
        index["a1.b2.c3.d4.e55", .exact] = 1
        index["a1.b2.c3", .prefix] = 2
        index["a1.b2.c3.d4", .prefix] = 3
        index["a1.b2..d4.e5", .wildcard] = 4
        index["a1.b2.c33..e5", .wildcard] = 5
        index["a1.b2..d4.e5..g7", .wildcard] = 6
        index["a1.b2..d4..f6.g7", .wildcard] = 7
        let expected = [
            "a1.b2.c3.d4.e55": 1, "a1.b2.c3.d98.e74": 2, "a1.b2.c3.d4.e325": 3, "a1.b2.c55.d4.e5": 4, "a1.b2.c88.d4.e5.f6.g7": 6,
        ]
        for (uri, entry) in expected { #expect(index.best(for: uri) == entry, "\(uri)") }
        // The example expects RPC 5 here, but by the specification's own rule the prefix `a1.b2.c3` matches.
        #expect(index.best(for: "a1.b2.c33.d4.e5") == 2)
        index["a1.b2.c3", .prefix] = nil
        #expect(index.best(for: "a1.b2.c33.d4.e5") == 5)
        index["a1.b2.c3", .prefix] = 2
        #expect(index.best(for: "a2.b2.c2.d2.e2") == nil)
        #expect(index.matches(of: "a1.b2.c3.d4.e55") == [1, 3, 2])
    }

    @Test("a removed pattern matches no longer and leaves nothing behind") mutating func removal() {
        let patterns: [(String, WAMPMatch)] = [
            ("a.b", .exact), ("a.b", .prefix), ("a.", .prefix), ("", .prefix), ("a.b", .wildcard), ("a..c", .wildcard), ("..", .wildcard),
        ]
        for (place, pattern) in patterns.enumerated() { index[pattern.0, pattern.1] = place }
        for (place, pattern) in patterns.enumerated() {
            #expect(index[pattern.0, pattern.1] == place)
            index[pattern.0, pattern.1] = nil
            #expect(index[pattern.0, pattern.1] == nil)
            // A second removal is harmless.
            index[pattern.0, pattern.1] = nil
            #expect(index.matches(of: "a.b").allSatisfy { $0 > place })
        }
        #expect(index.isEmpty && !index.hasPatterns)
    }

    @Test("a prefix that ends within a character matches nothing") mutating func characters() {
        index["com.é", .prefix] = 1
        index["com.x", .prefix] = 2
        #expect(index.matches(of: "com.é.a") == [1])
        #expect(index.matches(of: "com.€").isEmpty)
        #expect(index.matches(of: "com.😀").isEmpty)
    }

    @Test("the index finds the same as a comparison with each pattern", arguments: 1...20 as ClosedRange<UInt64>)
    mutating func comparison(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        func word() -> String { ["a", "b", "ab", ""].randomElement(using: &chance)! }
        var all: [(uri: String, match: WAMPMatch)] = []
        for _ in 0..<100 {
            let uri = (0..<Int.random(in: 1...4, using: &chance)).map { _ in word() }.joined(separator: ".")
            let match = WAMPMatch.allCases.randomElement(using: &chance)!
            if let place = all.firstIndex(where: { $0 == (uri, match) }) {
                index[uri, match] = nil
                all[place].uri = "gone"
            } else {
                index[uri, match] = all.count
                all.append((uri, match))
            }
            let topic = (0..<Int.random(in: 1...4, using: &chance)).map { _ in ["a", "b", "ab"].randomElement(using: &chance)! }
                .joined(separator: ".")
            let found = all.indices.filter { Self.matches(topic, all[$0].uri, all[$0].match) }
            #expect(index.matches(of: topic).sorted() == found, "\(topic)")
            #expect(index.best(for: topic) == index.matches(of: topic).first)
        }
    }

    private static func matches(_ topic: String, _ uri: String, _ match: WAMPMatch) -> Bool {
        switch match {
        case .exact: return topic == uri
        case .prefix: return topic.hasPrefix(uri)
        case .wildcard:
            let (mine, theirs) = (
                topic.split(separator: ".", omittingEmptySubsequences: false), uri.split(separator: ".", omittingEmptySubsequences: false)
            )
            return mine.count == theirs.count && zip(mine, theirs).allSatisfy { $1.isEmpty || $0 == $1 }
        }
    }
}
