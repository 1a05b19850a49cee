import CodecCore
import DocumentCore
import MachineCore

/// Draws edits that fit what a document holds.
struct OracleEdits {
    private var random: SplitMix64
    /// The only root that is edited, or nil for all.
    var root: String?
    /// Whether there are marks that JavaScript takes for false.
    var hasFalseMarks = false

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
    mutating func pick<Element>(_ list: [Element]) -> Element? { list.isEmpty ? nil : list[below(list.count)] }
    mutating func pick<Element>(_ list: [Element?]) -> Element? { list.isEmpty ? nil : list[below(list.count)] }
    mutating func shuffled<Element>(_ list: [Element]) -> [Element] { list.shuffled(using: &random) }
    mutating func client() -> UInt64 { UInt64(chance(66) ? 1 + below(200) : 1 + below(4_000_000_000 - 10)) }

    // MARK: - What is put into documents

    /// Texts that are equal by canonical equivalence only are different keys.
    private static let keys: [Value] = ["a", "b", "c", "ключ", "", "1", "\u{E9}", "e\u{301}"]
    private static let words: [Value] = [
        "a", "bc", "hello ", "\u{E9}", "e\u{301}", "ß→", "😀", "👩‍👩‍👧", "line\n", "日本", .text(String(repeating: "x", count: 30)), "\0",
        "\"\\", "\r\n", "\u{2028}",
    ]
    private static let marks = parsed(
        #"[{"bold":true},{"bold":null},{"italic":true},{"italic":null},{"color":"red"},{"color":"blue","bold":true},{"color":null},"#
            + #"{"link":{"href":"x","n":1}},{"link":null,"size":12.5},{"list":[1,"a"]},{"\u00e9":"\u00e9"},{"e\u0301":"e\u0301"},"#
            + #"{"\u00e9":"e\u0301"}]"#)
    private static let falseMarks = parsed(#"[{"bold":false},{"size":0},{"color":""}]"#)
    private static let values = parsed(
        #"[null,true,false,0,1,-1,63,64,-64,8191,8192,2147483647,-2147483647,2147483648,-2147483648,9007199254740991,0.5,1.1,"#
            + #"-1e300,1e21,1e-7,5e-324,123456789012,{"$number":"NaN"},{"$number":"Infinity"},{"$number":"-0"},"","text","日本😀","#
            + #"{"$bytes":""},{"$bytes":"00ff10"},[],[1,["two",{"three":null}]],{},{"a":1,"b":{"c":[true]}},"#
            + #"{"a":{"$bytes":"01"},"b":{"$number":"NaN"},"c":[{"$bigint":"-5"}]}]"#)
    private static let types = parsed(
        #"[{"$map":1},{"$array":1},{"$text":1},{"$xmltext":1},{"$doc":"sub-1"},{"$map":1},{"$array":1},{"$text":1}]"#)
    private static let elements = parsed(#"[{"$xml":"p"},{"$xml":"heading"},{"$xmltext":1},{"$xmltext":1},{"$hook":"h"}]"#)
    private static let embeds = parsed(#"[{"image":"x.png"},{"rule":true,"n":[1]},{"n":1e21,"u":"\u0001é"}]"#)

    private static func parsed(_ json: String) -> [Value] { (try? Value(json: Array(json.utf8)))?.items ?? [] }

    // MARK: - Where edits can be made

    /// A shared type in a document.
    private struct Target {
        enum Kind { case text, xmlText, list, xml, element, map }
        var path: [Value]
        var kind: Kind
        var content: Value
        var keys: [Value] = []
    }

    private func targets(_ dump: Value) -> [Target] {
        let kinds: [(String, Target.Kind)] = [("text", .text), ("array", .list), ("map", .map), ("xml", .xml)]
        var found: [Target] = []
        for (name, kind) in kinds where root == nil || root == name {
            found.append(Target(path: [.text(name)], kind: kind, content: dump[name] ?? .null))
        }
        var next = 0
        while next < found.count {
            let target = found[next]
            next += 1
            guard target.path.count < 5, target.kind != .text, target.kind != .xmlText else { continue }
            for (number, item) in (target.content.items ?? []).enumerated() {
                if let type = Self.type(item, target.path + [.integer(Int64(number))]) { found.append(type) }
            }
            for entry in target.content.entries?.entries ?? [] {
                if let type = Self.type(entry.value, target.path + [entry.key]) { found.append(type) }
            }
        }
        return found
    }

    private static func type(_ value: Value, _ path: [Value]) -> Target? {
        let attributes = (value["attrs"]?.entries?.entries ?? []).map(\.key)
        if let content = value["$map"] { return Target(path: path, kind: .map, content: content) }
        if let content = value["$array"] { return Target(path: path, kind: .list, content: content) }
        if let content = value["$text"] { return Target(path: path, kind: .text, content: content) }
        if let content = value["$xmltext"] { return Target(path: path, kind: .xmlText, content: content, keys: attributes) }
        if value["$xml"] != nil { return Target(path: path, kind: .element, content: value["children"] ?? .null, keys: attributes) }
        return nil
    }

    /// A list or a text, with its length.
    mutating func list(_ dump: Value) -> (path: Value, length: Int)? {
        guard let target = pick(targets(dump).filter { $0.kind != .map }) else { return nil }
        let isText = target.kind == .text || target.kind == .xmlText
        return (.array(target.path), isText ? units(target.content).count : target.content.items?.count ?? 0)
    }

    private func units(_ runs: Value) -> [UInt16] {
        (runs.items ?? []).flatMap { run in run["insert"]?.string.map { Array($0.utf16) } ?? [0x2E] }
    }

    // MARK: - Edits

    /// Draws an edit.
    ///
    /// An index never lies within a surrogate pair: Yjs replaces both halves where it cuts them, on its own copy only.
    mutating func operation(_ dump: Value) -> Value {
        guard let target = pick(targets(dump)) else { return .null }
        switch target.kind {
        case .text, .xmlText: return text(target)
        case .map: return map(target)
        case .list: return list(target, chance(20) ? Self.types : Self.values)
        case .xml, .element:
            if target.kind == .element, chance(35) { return attribute(target) }
            return list(target, Self.elements)
        }
    }

    private func operation(_ name: String, _ target: Target, _ entries: (String, Value)...) -> Value {
        let all: [(String, Value)] = [("op", .text(name)), ("path", .array(target.path))] + entries
        return .map(ValueMap(all.map { .init(key: .text($0.0), value: $0.1) }))
    }

    private mutating func any(_ list: [Value]) -> Value { pick(list) ?? .null }

    private mutating func mark() -> Value { any(hasFalseMarks && chance(20) ? Self.falseMarks : Self.marks) }

    private mutating func attribute(_ target: Target) -> Value {
        let keys: [Value] = ["id", "class", "level", "\u{E9}", "e\u{301}"]
        if chance(25), let key = pick(target.keys) { return operation("unset", target, ("key", key)) }
        let value = chance(70) ? any(["1", "two", "\u{E9}"]) : any(Self.values)
        return operation("set", target, ("key", any(keys)), ("value", value))
    }

    private mutating func map(_ target: Target) -> Value {
        let present = (target.content.entries?.entries ?? []).map(\.key)
        if chance(15), let key = pick(present) { return operation("unset", target, ("key", key)) }
        let value = chance(25) ? any(Self.types) : chance(5) ? .map(ValueMap([.init(key: "$undefined", value: 1)])) : any(Self.values)
        return operation("set", target, ("key", any(Self.keys)), ("value", value))
    }

    private mutating func list(_ target: Target, _ values: [Value]) -> Value {
        let length = target.content.items?.count ?? 0
        if length > 0, chance(30) {
            let at = below(length)
            return operation("delete", target, ("at", .integer(Int64(at))), ("length", .integer(Int64(1 + below(min(4, length - at))))))
        }
        let at = chance(40) ? length : below(length + 1)
        let new = (0..<1 + below(3)).map { _ in any(chance(85) ? values : target.kind == .list ? Self.values + Self.types : values) }
        return operation("insert", target, ("at", .integer(Int64(at))), ("values", .array(new)))
    }

    private mutating func text(_ target: Target) -> Value {
        let units = units(target.content), length = units.count
        func whole(_ index: Int) -> Int {
            index > 0 && index < length && UTF16.isTrailSurrogate(units[index]) && UTF16.isLeadSurrogate(units[index - 1])
                ? index - 1 : index
        }
        func place(_ index: Int) -> Value { .integer(Int64(index)) }
        if target.kind == .xmlText, chance(10) { return attribute(target) }
        let kind = below(20)
        if kind < 8 || length == 0 {
            let at = chance(30) ? length : whole(below(length + 1)), entries = ("at", place(at))
            let word = ("text", any(Self.words))
            return chance(25) ? operation("type", target, entries, word, ("attrs", mark())) : operation("type", target, entries, word)
        }
        let start = whole(below(length)), wanted = whole(min(length, start + 1 + below(12)))
        let end = wanted > start ? wanted : min(length, start + 2)
        switch kind {
        case 8..<12: return operation("delete", target, ("at", place(start)), ("length", place(end - start)))
        case 12..<17: return operation("format", target, ("at", place(start)), ("length", place(end - start)), ("attrs", mark()))
        case 17:
            let at = ("at", place(whole(below(length + 1)))), value = ("value", any(Self.embeds))
            return chance(50) ? operation("embed", target, at, value, ("attrs", mark())) : operation("embed", target, at, value)
        default:
            func step(_ name: String, _ value: Value, _ marks: Value? = nil) -> Value {
                .map(ValueMap([.init(key: .text(name), value: value)] + (marks.map { [.init(key: "attributes", value: $0)] } ?? [])))
            }
            var steps: [Value] = start > 0 ? [step("retain", place(start), chance(50) ? mark() : nil)] : []
            if chance(60) { steps.append(step("insert", any(Self.words), chance(60) ? mark() : nil)) }
            if chance(30) { steps.append(step("insert", any(Self.embeds), chance(60) ? mark() : nil)) }
            steps.append(chance(50) ? step("delete", place(end - start)) : step("retain", place(end - start), mark()))
            // Yjs appends line breaks for what a delta retains behind the end.
            if end == length, chance(30) { steps.append(step("retain", place(1 + below(2)), mark())) }
            return operation("delta", target, ("delta", .array(steps)))
        }
    }
}
