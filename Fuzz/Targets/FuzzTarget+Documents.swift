import DocumentCore
import MachineCore

extension FuzzTarget {
    static func documentUpdate(_ input: inout FuzzInput) throws { try update(Array(input.rest.prefix(4096)), .v1) }
    static func documentUpdateV2(_ input: inout FuzzInput) throws { try update(Array(input.rest.prefix(4096)), .v2) }

    /// An update that is refused changes nothing.
    ///
    /// The state after one that is taken brings an empty document to the same content, and the document can be edited further.
    private static func update(_ bytes: [UInt8], _ version: UpdateVersion) throws {
        // A copy of the edited document, because the author's blocks that undo has made again stay apart.
        var document = SharedDocument(client: 1)
        try document.apply(try edited(client: 1).update(since: nil))
        document.observesChanges = true
        let before = try document.update(since: nil), text = document.root("text", .text), count = document.count(text)
        do { try document.apply(bytes, version) } catch {
            try expectEqual(try document.update(since: nil), before, "a refused update changes the document")
            try expect((try? DocumentUpdate.merge([bytes], version)) == nil, "a refused update can be merged")
            return
        }
        for change in document.changes where change.type == text {
            try expectEqual(count + growth(change.steps), document.count(text), "the changes are not what changed: \(change.steps)")
        }
        let state = try document.update(since: nil, version)
        // Too much may wait to take the update again.
        guard (try? document.apply(bytes, version)) != nil else { return }
        try expectEqual(try document.update(since: nil, version), state, "an update has an effect twice")
        try rewrite(bytes, version)

        var second = SharedDocument(client: 2), third = SharedDocument(client: 3)
        try second.apply(state, version)
        try third.apply(try second.update(since: nil, version), version)
        try expectEqual(
            try third.update(since: nil, version), try second.update(since: nil, version), "the state of a copy is another one")
        // A hostile block that waits can contradict one that is here, and then each copy has another of them. It can also wait for
        // edits to come.
        guard !document.isPending else { return }
        try expectEqual(second.stateVector, document.stateVector, "a copy has other blocks")
        try expectSame(second.content, document.content, "a copy has another content")
        try expect(!second.isPending, "something waits in a copy only")
        document.rename(to: 1 << 40)
        try edit(&document, &second)
    }

    /// What is merged, converted and compared stays the same when it is done again.
    private static func rewrite(_ bytes: [UInt8], _ version: UpdateVersion) throws {
        let merged = try DocumentUpdate.merge([bytes], version)
        try expectEqual(try DocumentUpdate.merge([merged, bytes], version), merged, "an update merged with itself is another one")
        let converted = try DocumentUpdate.convert(bytes, from: version, to: .v1)
        func there(_ update: [UInt8]) throws -> [UInt8] {
            try DocumentUpdate.convert(DocumentUpdate.convert(update, from: .v1, to: .v2), from: .v2, to: .v1)
        }
        let once = try there(converted)
        try expectEqual(try there(once), once, "a conversion changes an update each time")
        let vector = try DocumentUpdate.stateVector(of: merged, version)
        _ = try DocumentUpdate.difference(bytes, since: vector, version)
        let rest = try DocumentUpdate.difference(merged, since: vector, version)
        try expectEqual(try DocumentUpdate.difference(rest, since: vector, version), rest, "a difference has another one")
    }

    /// Edits all roots, undoes it and makes it again; a copy that gets the updates shows the same.
    private static func edit(_ document: inout SharedDocument, _ copy: inout SharedDocument) throws {
        let roots = document.rootNames.inOrder.prefix(4).map { document.root($0, $0 == "map" ? .map : .text) }
        var undo = DocumentUndo(of: roots, groupingTime: .zero)
        func share(_ update: [UInt8]?) throws { if let update { try copy.apply(update) } }
        for root in roots {
            let middle = document.count(root) / 2
            if document.kind(of: root) == .map {
                try document.set("key", to: .type(.array), in: root)
                for key in document.keys(root).prefix(4) { try document.remove(key, in: root) }
            } else {
                try document.insert("new", at: middle, in: root, marks: [.init("bold", true)])
                try share(document.commit(noting: &undo, at: .start))
                try document.delete(middle..<min(middle + 5, document.count(root)), in: root)
                try share(document.commit(noting: &undo, at: .start))
                try document.format(0..<document.count(root), in: root, marks: [.init("bold", .null), .init("link", .object([]))])
            }
            try share(document.commit(noting: &undo, at: .start))
        }
        for _ in 0..<2 {
            while undo.canUndo { try share(undo.undo(&document)) }
            while undo.canRedo { try share(undo.redo(&document)) }
        }
        try expectSame(copy.content, document.content, "a copy shows something else after edits")
        try expectEqual(copy.stateVector, document.stateVector, "a copy has other blocks after edits")
        let snapshot = document.snapshot, again = try DocumentSnapshot(snapshot.bytes(.v2), .v2)
        try expectEqual(again.bytes(), snapshot.bytes(), "a snapshot is not read as it is written")
        var past = SharedDocument(client: 4)
        try past.apply(document.update(at: again))
        try expectSame(past.content, document.content, "the snapshot of now shows something else")
    }

    /// A byte that picks the version, then updates, each with its length in two bytes.
    static func documentMerge(_ input: inout FuzzInput) throws {
        let version = input.choose(UpdateVersion.allCases)
        var updates: [[UInt8]] = []
        while !input.isEmpty, updates.count < 16 {
            let length = min(Int(input.byte()) | Int(input.byte()) << 8, 2048)
            let update = (0..<min(length, input.rest.count)).map { _ in input.byte() }
            if (try? DocumentUpdate.stateVector(of: update, version)) != nil { updates.append(update) }
        }
        let merged = try DocumentUpdate.merge(updates, version)
        try expectEqual(try DocumentUpdate.merge([merged], version), merged, "what is merged is not merged")
        try expectEqual(
            try DocumentUpdate.stateVector(of: DocumentUpdate.merge(updates.reversed(), version), version),
            try DocumentUpdate.stateVector(of: merged, version), "the order of merging changes how far it goes")
        // Contents and origins of hostile updates can contradict each other, so only what each copy has is compared.
        var (one, other, whole) = (SharedDocument(client: 1), SharedDocument(client: 2), SharedDocument(client: 3))
        for update in updates { try one.apply(update, version) }
        for update in updates.reversed() { try other.apply(update, version) }
        try whole.apply(merged, version)
        for document in [one, other, whole] where !document.isPending {
            var copy = SharedDocument(client: 4)
            try copy.apply(document.update(since: nil, version), version)
            try expectSame(copy.content, document.content, "a copy has another content")
        }
    }

    /// What awareness takes, it passes on, and another one takes the same from it.
    static func documentAwareness(_ input: inout FuzzInput) throws {
        var mine = DocumentAwareness(client: 1)
        _ = mine.set(.object([.init("name", "me")]), at: .start)
        let before = mine.states
        do { _ = try mine.apply(Array(input.rest.prefix(4096)), at: Moment(.seconds(1))) } catch {
            return try expectEqual(mine.states, before, "a refused update changes the states")
        }
        try expect(mine.states[1] != nil, "another removes the own state")
        var second = DocumentAwareness(client: 0), third = DocumentAwareness(client: 0)
        if mine.states[0] != nil { (second, third) = (DocumentAwareness(client: 1 << 52), DocumentAwareness(client: 1 << 52)) }
        _ = try second.apply(mine.update(), at: .start)
        _ = try third.apply(second.update(), at: .start)
        try expectEqual(third.update(), second.update(), "a state is not read as it is written")
        for client in second.states.keys { try expect(mine.states[client] != nil, "a client that nobody knows: \(client)") }
        _ = try mine.apply(second.update(), at: Moment(.seconds(2)))
        _ = mine.wake(at: Moment(.seconds(20)))
        _ = mine.wake(at: Moment(.seconds(40)))
        try expect(mine.states.keys.elementsEqual([1]), "silent clients stay")
    }

    /// A position is written as it was read, and is somewhere in its type or nowhere.
    static func documentPosition(_ input: inout FuzzInput) throws {
        let document = try edited(client: 1)
        guard let position = try? DocumentPosition(Array(input.rest.prefix(4096))) else { return }
        try expectEqual(try DocumentPosition(position.bytes), position, "a position is not read as it is written")
        try expectEqual(DocumentPosition(position.json), position, "a position is not read as its JSON is written")
        guard let place = document.index(of: position) else { return }
        try expect(0...document.count(place.type) ~= place.index, "a position outside of its type: \(place.index)")
        for side in [DocumentPosition.Side.after, .before] {
            let again = try document.position(at: place.index, in: place.type, holdingOnTo: side)
            let found = document.index(of: again)
            try expect(found?.index == place.index && found?.type == place.type, "a position moves by itself")
        }
    }

    /// A byte that picks the version, then a snapshot.
    static func documentSnapshot(_ input: inout FuzzInput) throws {
        let document = try edited(client: 1, keepsDeleted: true), version = input.choose(UpdateVersion.allCases)
        guard let snapshot = try? DocumentSnapshot(Array(input.rest.prefix(4096)), version) else { return }
        for version in UpdateVersion.allCases {
            let bytes = snapshot.bytes(version)
            try expectEqual(try DocumentSnapshot(bytes, version).bytes(version), bytes, "a snapshot is not read as it is written")
        }
        var past = SharedDocument(client: 4)
        try past.apply(document.update(at: snapshot, version), version)
    }

    /// A document with text, marks, nested types, deleted content and content that undo made again.
    private static func edited(client: UInt64, keepsDeleted: Bool = false) throws -> SharedDocument {
        var document = SharedDocument(client: client, keepsDeleted: keepsDeleted)
        let text = document.root("text", .text), map = document.root("map", .map)
        var undo = DocumentUndo(of: [text, map], groupingTime: .zero)
        try document.insert("here 🙂 before", at: 0, in: text)
        try document.format(2..<9, in: text, marks: [.init("bold", true)])
        _ = document.commit(noting: &undo, at: .start)
        try document.delete(1..<4, in: text)
        _ = document.commit(noting: &undo, at: .start)
        _ = undo.undo(&document)
        try document.delete(8..<9, in: text)
        if let inner = try document.set("a", to: .type(.array), in: map) {
            try document.insert([.value(1), .type(.text)], at: 0, in: inner)
        }
        try document.set("b", to: .value(1), in: map)
        try document.set("b", to: .value(2), in: map)
        _ = document.commit()
        return document
    }

    private static func growth(_ steps: [DocumentChange.Step]) -> Int {
        steps.reduce(0) { sum, step in
            switch step {
            case .retain: sum
            case .text(let text, _): sum + text.utf16.count
            case .nodes(let nodes, _): sum + nodes.count
            case .delete(let count): sum - count
            }
        }
    }
}
