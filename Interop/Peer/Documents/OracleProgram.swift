import CodecCore
import DocumentCore
import MachineCore

/// A random program on documents of ours and of Yjs.
///
/// The seed decides everything.
struct OracleProgram {
    /// What a program compares.
    enum Kind: String, CaseIterable {
        case alone = "edits of one client make the same bytes as with Yjs"
        case together = "edits between remote updates make the same bytes as with Yjs"
        case undo = "undo and redo between remote updates do what Yjs does"
        case converge = "copies of ours and of Yjs end equal, whatever the order of their updates"
        case merge = "merged and differential updates are those of Yjs"
    }

    let kind: Kind
    /// What the program has done so far.
    private(set) var log: [String] = []
    private var edits: OracleEdits
    private let oracle: OracleProcess
    private var copies = 0

    init(seed: UInt64, oracle: OracleProcess) {
        self.oracle = oracle
        edits = OracleEdits(seed: seed)
        switch edits.below(20) {
        case 0..<5: kind = .alone
        case 5..<9: kind = .together
        case 9..<11: kind = .undo
        case 11..<18: kind = .converge
        default: kind = .merge
        }
        // Yjs 13.5 takes the marks false, 0 and the empty text for none in some places, so the bytes differ.
        edits.hasFalseMarks = kind == .converge || kind == .merge
        edits.root = edits.pick(["text", "text", "array", "map", "xml", nil, nil])
    }

    mutating func run() throws {
        switch kind {
        case .alone: try compareBytes(steps: 50, others: 0, canUndo: false)
        case .together: try compareBytes(steps: 40, others: 1 + edits.below(2), canUndo: false)
        case .undo: try compareBytes(steps: 40, others: edits.below(2), canUndo: true)
        case .converge: try converge()
        case .merge: try merge()
        }
    }

    // MARK: - Copies of documents

    /// A document of ours, or one in the process of Yjs.
    private final class Copy {
        let name: String
        let handle: Int64
        var ours: OracleDocument?
        /// The updates that it has had, by their number.
        var seen: Set<Int> = []

        init(name: String, handle: Int64, ours: OracleDocument?) { (self.name, self.handle, self.ours) = (name, handle, ours) }
    }

    private mutating func makeCopy(ours: Bool, client: UInt64, options: [String: Bool] = [:]) throws -> Copy {
        copies += 1
        let name = "\(ours ? "ours" : "Yjs") \(copies)"
        log.append("\(name) has client \(client) \(options.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" })")
        if ours {
            let document = OracleDocument(client: client, keepsDeleted: options["gc"] == false, undo: options["undo"] == true)
            return Copy(name: name, handle: Int64(copies), ours: document)
        }
        let request: [(String, Value)] = [("new", .integer(Int64(copies))), ("client", .integer(Int64(client)))]
        try oracle.ask(request + options.map { ($0.key, .bool($0.value)) })
        return Copy(name: name, handle: Int64(copies), ours: nil)
    }

    private func ask(_ copy: Copy, _ entries: (String, Value)...) throws -> Value {
        try oracle.ask([("doc", .integer(copy.handle))] + entries)
    }

    private func dump(_ copy: Copy) throws -> Value { try copy.ours?.dump ?? ask(copy, ("dump", true)) }

    private func stateVector(_ copy: Copy) throws -> [UInt8] {
        try copy.ours?.document.stateVector ?? ask(copy, ("state", true)).oracleBytes("sv")
    }

    private func isPending(_ copy: Copy) throws -> Bool {
        try copy.ours?.document.isPending ?? (ask(copy, ("state", true))["pending"]?.bool ?? false)
    }

    private func state(_ copy: Copy, since vector: [UInt8] = []) throws -> OracleUpdate {
        guard let document = copy.ours?.document else { return OracleUpdate(try ask(copy, ("full", .text(Hexadecimal.text(vector))))) }
        let known = vector.isEmpty ? nil : vector
        return OracleUpdate(v1: try document.update(since: known, .v1), v2: try document.update(since: known, .v2))
    }

    private mutating func edit(_ copy: Copy, _ operation: Value) throws -> OracleUpdate? {
        log.append("\(copy.name): \(String(decoding: try operation.json(), as: UTF8.self))")
        if copy.ours != nil { return try copy.ours?.edit(operation) }
        return try ask(copy, ("do", operation))["updates"]?.items?.first.map { OracleUpdate($0) }
    }

    /// Applies an update, and returns the updates with which Yjs itself answers.
    @discardableResult private mutating func apply(_ update: OracleUpdate, to copy: Copy, what: String) throws -> [OracleUpdate] {
        let version: UpdateVersion = edits.chance(50) ? .v1 : .v2, bytes = version == .v1 ? update.v1 : update.v2
        log.append("\(copy.name) applies \(what), \(version) \(Hexadecimal.text(bytes))")
        if copy.ours != nil {
            try copy.ours?.document.apply(bytes, version)
            return []
        }
        let request = Value.map(ValueMap([.init(key: version == .v1 ? "v1" : "v2", value: .text(Hexadecimal.text(bytes)))]))
        return (try ask(copy, ("apply", request))["updates"]?.items ?? []).map { OracleUpdate($0) }
    }

    private func expect(_ one: Value, _ other: Value, _ what: String) throws {
        let (one, other) = (try one.oracleText(), try other.oracleText())
        if one != other { throw OracleDifference("\(what):\n      \(one)\n      \(other)") }
    }

    private func expect(_ ours: [UInt8], _ theirs: [UInt8], _ what: String) throws {
        if ours != theirs {
            throw OracleDifference("\(what):\n      ours \(Hexadecimal.text(ours))\n      Yjs  \(Hexadecimal.text(theirs))")
        }
    }

    /// The update as it is written when it is read without a document.
    ///
    /// Yjs 13.5 keeps the clients of a delete set in the order of deletion, and it sets the bit for a key also where no key is written.
    private func canonical(_ update: OracleUpdate) throws -> OracleUpdate {
        OracleUpdate(
            v1: try DocumentUpdate.convert(update.v1, from: .v1, to: .v1), v2: try DocumentUpdate.convert(update.v2, from: .v2, to: .v2))
    }

    private func expect(_ ours: OracleUpdate, _ theirs: OracleUpdate, _ what: String) throws {
        try expect(ours.v1, theirs.v1, what)
        try expect(ours.v2, theirs.v2, what)
    }

    // MARK: - The same edits in a document of ours and in one of Yjs

    private mutating func compareBytes(steps: Int, others: Int, canUndo: Bool) throws {
        let client = edits.client(), options = ["gc": !edits.chance(15), "undo": canUndo, "passive": true]
        let ours = try makeCopy(ours: true, client: client, options: options)
        let yjs = try makeCopy(ours: false, client: client, options: options)
        let rest = try (0..<others).map { number in
            try makeCopy(ours: false, client: client + 1 + UInt64(number), options: ["passive": true])
        }
        var positions: [(ours: [UInt8], yjs: [UInt8])] = []
        for _ in 0..<steps {
            if let other = edits.pick(rest), edits.chance(40) {
                // Another edits, and all have it at once.
                guard let update = try edit(other, edits.operation(try dump(other))) else { continue }
                for copy in [ours, yjs] + rest where copy !== other { try apply(update, to: copy, what: "the edit") }
                continue
            }
            let before = try dump(ours), operation = try next(before, of: ours, canUndo: canUndo)
            let mine = try edit(ours, operation), theirs = try edit(yjs, operation)
            if (mine == nil) != (theirs == nil) { throw OracleDifference("only one of both wrote an update: \(operation)") }
            if let mine, let theirs {
                if canUndo || others > 0 {
                    // Undo of Yjs may add ranges to its update that were deleted before.
                    if !canUndo { try expect(canonical(mine), canonical(theirs), "\(operation)") }
                    for other in rest { try apply(theirs, to: other, what: "the update of Yjs") }
                } else {
                    try expect(mine, theirs, "\(operation)")
                }
            }
            try expect(try dump(ours), try dump(yjs), "after \(operation)")
            if let position = try place(ours, yjs) { positions.append(position) }
        }
        try expect(try stateVector(ours), try stateVector(yjs), "the state vector")
        if !canUndo {
            let (mine, theirs) = (try state(ours), try state(yjs))
            if others == 0 { try expect(mine, theirs, "the state") } else { try expect(canonical(mine), canonical(theirs), "the state") }
        }
        for position in positions {
            let mine = (ours.ours?.document.index(of: try DocumentPosition(position.ours))?.index).map { Value.integer(Int64($0)) } ?? .null
            let theirs = try ask(yjs, ("absolute", .text(Hexadecimal.text(position.yjs))))["index"] ?? .null
            // For a place in a deleted type, Yjs says 0.
            if mine == .null, theirs == .integer(0) { continue }
            try expect(mine, theirs, "the position \(Hexadecimal.text(position.ours))")
        }
        try checkNewCopies(of: ours, as: try dump(yjs))
    }

    /// An operation, or a transaction of several, or a step of undo.
    private mutating func next(_ dump: Value, of copy: Copy, canUndo: Bool = false) throws -> Value {
        if canUndo, edits.chance(35) {
            return .map(ValueMap([.init(key: "op", value: .text(edits.pick(["undo", "undo", "redo", "cut"]) ?? "cut"))]))
        }
        guard edits.chance(15) else { return edits.operation(dump) }
        // The second operation has to fit what the first one leaves. A document of ours tells, also for one of Yjs.
        var trial = copy.ours ?? OracleDocument(client: 4_000_000_000)
        if copy.ours == nil {
            try trial.document.apply(try state(copy).v1)
            // The state contains what Yjs waits with, also when it waits in vain.
            if try isPending(copy) { return edits.operation(dump) }
            try expect(trial.dump, dump, "the state of \(copy.name) in a document of ours")
        }
        var operations: [Value] = []
        for _ in 0..<2 + edits.below(3) {
            let operation = edits.operation(trial.dump)
            operations.append(operation)
            try trial.run(operation)
        }
        return .map(ValueMap([.init(key: "op", value: "all"), .init(key: "ops", value: .array(operations))]))
    }

    /// Notes a place in a list or a text in both documents.
    private mutating func place(_ ours: Copy, _ yjs: Copy) throws -> (ours: [UInt8], yjs: [UInt8])? {
        guard edits.chance(20), let document = ours.ours, let target = edits.list(try dump(ours)) else { return nil }
        let index = edits.below(target.length + 1), isBefore = edits.chance(30)
        let position = try document.document.position(at: index, in: document.type(target.path), holdingOnTo: isBefore ? .before : .after)
        let request = Value.array([target.path, .integer(Int64(index)), .integer(isBefore ? -1 : 0)])
        let theirs = try ask(yjs, ("relative", request)).oracleBytes("rpos")
        try expect(position.bytes, theirs, "the position of \(index) in \(target.path)")
        return (position.bytes, theirs)
    }

    // MARK: - Many copies

    private mutating func converge() throws {
        let count = 2 + edits.below(4), isPassive = edits.chance(50), ourShare = 1 + edits.below(count)
        var clients: Set<UInt64> = []
        while clients.count < count { clients.insert(edits.client()) }
        let all = try clients.sorted().enumerated().map { number, client in
            try makeCopy(ours: number < ourShare, client: client, options: ["gc": !edits.chance(10), "passive": isPassive])
        }
        var updates: [OracleUpdate] = []
        for _ in 0..<60 {
            guard let copy = edits.pick(all) else { continue }
            switch edits.below(20) {
            case 0..<12:
                guard let update = try edit(copy, next(dump(copy), of: copy)) else { continue }
                copy.seen.insert(updates.count)
                updates.append(update)
            case 12..<17:
                let missing = updates.indices.filter { !copy.seen.contains($0) }
                var batch = edits.shuffled(missing.filter { _ in edits.chance(60) })
                // Some come again.
                if let again = edits.pick(Array(updates.indices)) { batch.append(again) }
                copy.seen.formUnion(batch)
                if batch.count > 1, edits.chance(40) {
                    let merged = try merged(batch.map { updates[$0] })
                    try take(apply(merged, to: copy, what: "updates \(batch) merged"), from: copy, &updates)
                } else {
                    for number in batch { try take(apply(updates[number], to: copy, what: "update \(number)"), from: copy, &updates) }
                }
            default:
                // It asks another copy for what it lacks. The numbers that it has now stay unknown, so that some come twice.
                guard let other = edits.pick(all), other !== copy else { continue }
                let update = try state(other, since: stateVector(copy))
                try take(apply(update, to: copy, what: "what \(other.name) has"), from: copy, &updates)
            }
        }
        try deliver(&updates, to: all)
        let end = try dump(all[0]), vector = try clocks(stateVector(all[0]))
        for copy in all {
            try expect(dump(copy), end, "\(copy.name) and \(all[0].name) differ")
            if try clocks(stateVector(copy)) != vector {
                throw OracleDifference("the state vectors of \(copy.name) and \(all[0].name) differ")
            }
            // Yjs may keep what it has already, or wait for ever for what it has.
            if copy.ours != nil, try isPending(copy) { throw OracleDifference("\(copy.name) waits for something") }
        }
        for copy in all where copy.ours != nil { try checkNewCopies(of: copy, as: end) }
        // The updates alone make the same document, in any order.
        let late = try makeCopy(ours: true, client: 4_000_000_001)
        for number in edits.shuffled(Array(updates.indices)) { try apply(updates[number], to: late, what: "update \(number)") }
        try expect(dump(late), end, "a copy that had all updates in another order")
        if try isPending(late) { throw OracleDifference("the copy that had all updates waits for something") }
    }

    /// Publishes what Yjs wrote itself while it applied an update.
    private func take(_ own: [OracleUpdate], from copy: Copy, _ updates: inout [OracleUpdate]) throws {
        for update in own {
            copy.seen.insert(updates.count)
            updates.append(update)
        }
    }

    /// Gives all updates to all, and then the states, until nobody has anything to say.
    private mutating func deliver(_ updates: inout [OracleUpdate], to all: [Copy]) throws {
        for _ in 0..<20 {
            let before = updates.count
            for copy in all {
                for number in edits.shuffled(updates.indices.filter { !copy.seen.contains($0) }) {
                    copy.seen.insert(number)
                    try take(apply(updates[number], to: copy, what: "update \(number)"), from: copy, &updates)
                }
                // Yjs can lose what a block waits for (see "stuck" in the vectors), so a sync follows.
                for other in all where other !== copy {
                    let update = try state(other, since: stateVector(copy))
                    try take(apply(update, to: copy, what: "what \(other.name) has"), from: copy, &updates)
                }
            }
            if updates.count == before, try Set(all.map { try clocks(stateVector($0)) }).count == 1 { return }
        }
        throw OracleDifference("the copies do not come to rest")
    }

    private mutating func merged(_ updates: [OracleUpdate]) throws -> OracleUpdate {
        if edits.chance(50) {
            return OracleUpdate(v1: try DocumentUpdate.merge(updates.map(\.v1), .v1), v2: try DocumentUpdate.merge(updates.map(\.v2), .v2))
        }
        let v1 = try oracle.ask([("merge", .array(updates.map { .text(Hexadecimal.text($0.v1)) }))]).oracleBytes("v1")
        return OracleUpdate(v1: v1, v2: try DocumentUpdate.convert(v1, from: .v1, to: .v2))
    }

    /// A state vector as a dictionary: copies write their clients in different orders.
    private func clocks(_ vector: [UInt8]) throws -> [UInt64: UInt64] {
        var numbers: [UInt64] = [], (number, shift): (UInt64, UInt64) = (0, 0)
        for byte in vector {
            number |= UInt64(byte & 0x7F) << shift
            shift += 7
            guard byte < 0x80 else { continue }
            numbers.append(number)
            (number, shift) = (0, 0)
        }
        return Dictionary(
            stride(from: 1, to: numbers.count - 1, by: 2).map { (numbers[$0], numbers[$0 + 1]) }, uniquingKeysWith: { first, _ in first })
    }

    /// What the state of a copy of ours makes in empty documents.
    private mutating func checkNewCopies(of copy: Copy, as expected: Value) throws {
        let full = try state(copy)
        for isOurs in [true, false] {
            let new = try makeCopy(ours: isOurs, client: 4_000_000_002, options: ["passive": true])
            try apply(full, to: new, what: "the state of \(copy.name)")
            try expect(dump(new), expected, "a new copy of \(copy.name)")
            if try isPending(new) { throw OracleDifference("a new copy of \(copy.name) waits for something") }
        }
        let converted = try DocumentUpdate.convert(full.v1, from: .v1, to: .v2)
        try expect(converted, try canonical(full).v2, "the state in version 2")
    }

    // MARK: - Updates without a document

    private mutating func merge() throws {
        let all = try [
            makeCopy(ours: true, client: edits.client(), options: ["gc": false]),
            makeCopy(ours: false, client: 5_000_000_000, options: ["gc": true, "passive": true]),
        ]
        var updates: [OracleUpdate] = []
        for _ in 0..<40 {
            guard let copy = edits.pick(all) else { continue }
            if edits.chance(20) {
                for number in updates.indices where !copy.seen.contains(number) {
                    copy.seen.insert(number)
                    try apply(updates[number], to: copy, what: "update \(number)")
                }
            } else if let update = try edit(copy, next(dump(copy), of: copy)) {
                copy.seen.insert(updates.count)
                updates.append(update)
            }
        }
        let some = edits.shuffled(updates.filter { _ in edits.chance(60) })
        guard !some.isEmpty else { return }
        log.append("merged: \(some.map { Hexadecimal.text($0.v1) })")
        let ours = try DocumentUpdate.merge(some.map(\.v1))
        let yjs = try oracle.ask([("merge", .array(some.map { .text(Hexadecimal.text($0.v1)) }))]).oracleBytes("v1")
        try expect(ours, try DocumentUpdate.convert(yjs, from: .v1, to: .v1), "the merged update")
        let second = try DocumentUpdate.merge(some.map(\.v2), .v2)
        try expect(second, try DocumentUpdate.convert(ours, from: .v1, to: .v2), "the merged update in version 2")
        let vector = try oracle.ask([("vector", .text(Hexadecimal.text(yjs)))]).oracleBytes("sv")
        if try clocks(DocumentUpdate.stateVector(of: ours)) != clocks(vector) {
            throw OracleDifference("the state vector of the merged update")
        }
        let known = try stateVector(all[edits.below(2)])
        let diff = try oracle.ask([("diff", .array([.text(Hexadecimal.text(yjs)), .text(Hexadecimal.text(known))]))]).oracleBytes("v1")
        let difference = try DocumentUpdate.difference(ours, since: known)
        try expect(difference, try DocumentUpdate.convert(diff, from: .v1, to: .v1), "what a copy lacks of the merged update")
    }
}
