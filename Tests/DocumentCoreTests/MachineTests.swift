import MachineCore
import ProtocolCore
import Testing

@testable import DocumentCore

/// Copies and a server that talk as y-websocket does, over connections that break and lose what is on the way.
private struct World {
    /// What a server does: it keeps one document, answers state vectors, and sends every update to all, the sender too.
    struct Server {
        var document = SharedDocument(client: 4_000_000_000)
        var awareness = DocumentAwareness(client: 4_000_000_000)
    }

    struct Link {
        var up: [DocumentMessage] = []
        var down: [DocumentMessage] = []
    }

    var server = Server()
    var copies: [DocumentMachine]
    var links: [Link?]
    var now = Moment.start
    var random: UInt64
    var denied = 0

    init(copies count: Int, seed: UInt64) {
        random = seed
        copies = (0..<count).map { DocumentMachine(SharedDocument(client: UInt64($0) + 1), seed: seed &+ UInt64($0)) }
        links = Array(repeating: nil, count: count)
    }

    mutating func below(_ count: Int) -> Int {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(random >> 33) % count
    }

    // MARK: - What happens

    mutating func step(faults: Bool) throws {
        let copy = below(copies.count)
        switch below(faults ? 20 : 12) {
        case 0..<4: edit(copy)
        case 4..<9: try deliver(copy, count: 1 + below(3))
        case 9..<11: open(copy)
        case 11: advance(.milliseconds(below(3000)))
        case 12..<14: cut(copy)
        // A server that is killed has its document on disk. All connections are lost.
        case 14: for copy in copies.indices { cut(copy) }
        default: try deliver(copy, count: 20)
        }
        if below(4) == 0 { check() }
    }

    /// Carries out everything that is left, without faults.
    mutating func settle() throws {
        for _ in 0..<60 {
            for copy in copies.indices {
                open(copy)
                try deliver(copy, count: 1000)
            }
            advance(.milliseconds(700))
            check()
        }
    }

    private mutating func edit(_ copy: Int) {
        let at = below(1000), kind = below(3)
        perform(
            copy,
            .command(
                .edit { document in
                    let text = document.root("text", .text), map = document.root("map", .map), count = document.count(text)
                    if kind == 0, count > 3 {
                        try? document.delete(at % (count - 2)..<at % (count - 2) + 2, in: text)
                    } else if kind == 1 {
                        _ = try? document.set("k\(at % 3)", to: .value(.number(Double(at))), in: map)
                    } else {
                        try? document.insert("w\(at) ", at: at % (count + 1), in: text)
                    }
                }))
    }

    mutating func open(_ copy: Int) {
        guard links[copy] == nil else { return }
        links[copy] = Link(down: [.sync(.stateVector(server.document.stateVector)), .awareness(server.awareness.update())])
        perform(copy, .opened(nil))
    }

    mutating func cut(_ copy: Int) {
        guard links[copy] != nil else { return }
        links[copy] = nil
        perform(copy, .lost(unsent: []))
    }

    private mutating func deliver(_ copy: Int, count: Int) throws {
        for _ in 0..<count {
            guard var link = links[copy] else { return }
            if !link.up.isEmpty {
                let message = link.up.removeFirst()
                links[copy] = link
                try serve(message, from: copy)
            }
            guard var link = links[copy], !link.down.isEmpty else { continue }
            let message = link.down.removeFirst()
            links[copy] = link
            perform(copy, .received([message]))
        }
    }

    private mutating func serve(_ message: DocumentMessage, from copy: Int) throws {
        switch message {
        case .sync(.stateVector(let vector)): links[copy]?.down.append(.sync(.missing(try server.document.update(since: vector))))
        case .sync(.missing(let update)), .sync(.update(let update)):
            let before = try server.document.update()
            try server.document.apply(update)
            guard try server.document.update() != before else { return }
            for copy in links.indices { links[copy]?.down.append(.sync(.update(update))) }
        case .awareness(let update):
            _ = try server.awareness.apply(update, at: now)
            for copy in links.indices { links[copy]?.down.append(message) }
        default: Issue.record("a copy sent \(message)")
        }
    }

    mutating func perform(_ copy: Int, _ input: DocumentMachine.Input) {
        var effects: [DocumentMachine.Effect] = []
        copies[copy].handle(input, at: now, into: &effects)
        carryOut(effects, copy)
    }

    private mutating func carryOut(_ effects: [DocumentMachine.Effect], _ copy: Int) {
        for effect in effects {
            switch effect {
            case .send(let message): links[copy]?.up.append(message)
            case .end: cut(copy)
            case .event(.denied): denied += 1
            case .ready, .connect, .event: break
            }
        }
    }

    mutating func advance(_ time: Duration) {
        let end = now + time
        while let (copy, due) = copies.indices.compactMap({ copy in copies[copy].deadline.map { (copy, $0) } }).min(by: { $0.1 < $1.1 }),
            due <= end
        {
            now = max(now, due)
            var effects: [DocumentMachine.Effect] = []
            copies[copy].wake(at: now, into: &effects)
            carryOut(effects, copy)
        }
        now = end
    }

    /// A copy that says that the server has everything must be right.
    private func check() {
        for copy in copies where copy.status.isSaved {
            var server = server.document
            let before = try? server.update()
            try? server.apply(copy.document.update())
            #expect((try? server.update()) == before, "saved, but the server lacks an edit of copy \(copy.document.client)")
        }
    }
}

@Suite struct `Copies of documents at a server` {
    @Test(arguments: 1...40) func `all end equal, and what is called saved is on the server`(seed: UInt64) throws {
        var world = World(copies: 2 + Int(seed % 3), seed: seed)
        for _ in 0..<150 { try world.step(faults: true) }
        try world.settle()
        let state = try world.server.document.update()
        for copy in world.copies {
            #expect(copy.status == DocumentMachine.Status(isSynced: true, isSaved: true, isPending: false))
            #expect(try copy.document.update() == state)
        }
        #expect(world.denied == 0)
    }

    private func effects(_ machine: inout DocumentMachine, _ input: DocumentMachine.Input, at moment: Moment = .start) -> [DocumentMachine
        .Effect]
    {
        var effects: [DocumentMachine.Effect] = []
        machine.handle(input, at: moment, into: &effects)
        return effects
    }

    @Test func `edits from before the connection are saved when a later question is answered`() throws {
        var machine = DocumentMachine(SharedDocument(client: 1), seed: 1), server = SharedDocument(client: 2)
        _ = effects(&machine, .command(.edit { document in try? document.insert("x", at: 0, in: document.root("text", .text)) }))
        #expect(!machine.status.isSaved)
        #expect(effects(&machine, .opened(nil)).count == 1)
        let answers = effects(&machine, .received([.sync(.stateVector(server.stateVector))]))
        guard case .send(.sync(.missing(let update)))? = answers.first, answers.count == 2 else { throw DocumentError(.malformed) }
        let first = effects(&machine, .received([.sync(.missing(try server.update(since: machine.document.stateVector)))]))
        #expect(first.contains(.ready) && machine.status.isSynced && !machine.status.isSaved)
        try server.apply(update)
        _ = effects(&machine, .received([.sync(.missing(try server.update(since: machine.document.stateVector)))]))
        #expect(machine.status.isSaved)
    }

    @Test func `the echo of an edit says that it is saved`() throws {
        var machine = DocumentMachine(SharedDocument(client: 1), seed: 1)
        _ = effects(&machine, .opened(nil))
        _ = effects(&machine, .received([.sync(.missing(try SharedDocument(client: 2).update()))]))
        let sent = effects(&machine, .command(.edit { document in try? document.insert("x", at: 0, in: document.root("text", .text)) }))
        guard case .send(let message)? = sent.last else { throw DocumentError(.malformed) }
        #expect(!machine.status.isSaved && machine.deadline == Moment(.seconds(2)))
        _ = effects(&machine, .received([message]))
        #expect(machine.status.isSaved && machine.deadline == nil)
    }

    @Test func `a server that does not answer is dropped`() {
        var machine = DocumentMachine(SharedDocument(client: 1), seed: 1), effects = effects(&machine, .opened(nil))
        #expect(machine.deadline == Moment(.seconds(10)))
        machine.wake(at: Moment(.seconds(10)), into: &effects)
        guard case .end(.cut)? = effects.last else {
            Issue.record("\(effects)")
            return
        }
        #expect(self.effects(&machine, .lost(unsent: [])).last == .event(.status(.init())))
        #expect(machine.deadline == nil)
    }

    @Test func `a server has all its time again after a pause in reading`() {
        var machine = DocumentMachine(SharedDocument(client: 1), seed: 1)
        _ = effects(&machine, .opened(nil))
        _ = effects(&machine, .paused, at: Moment(.seconds(9)))
        #expect(machine.deadline == nil)
        _ = effects(&machine, .resumed, at: Moment(.seconds(60)))
        #expect(machine.deadline == Moment(.seconds(70)))
    }

    @Test func `what cannot be read ends the connection, and a refusal ends the client`() {
        var machine = DocumentMachine(SharedDocument(client: 1), seed: 1)
        _ = effects(&machine, .opened(nil))
        for message in [DocumentMessage.sync(.update([9])), .sync(.stateVector([])), .awareness([1])] {
            let last = effects(&machine, .received([message])).last
            if case .end(.reject)? = last { continue }
            Issue.record("\(message)")
        }
        #expect(effects(&machine, .received([.denied(reason: "no")])) == [.event(.denied(reason: "no")), .end(.stop)])
    }

    @Test func `presence comes and goes with the connection`() throws {
        var world = World(copies: 2, seed: 1)
        world.perform(0, .command(.present(.object([.init("name", "Ann")]))))
        try world.settle()
        #expect(world.copies[1].awareness.states[1] == .object([.init("name", "Ann")]))
        world.cut(1)
        #expect(world.copies[1].awareness.states.isEmpty)
    }

    @Test func `a copy whose identity another has takes a new one`() throws {
        var world = World(copies: 2, seed: 3)
        world.copies[1] = DocumentMachine(SharedDocument(client: 1), seed: 99)
        for (copy, word) in ["longer", "short"].enumerated() {
            world.perform(copy, .command(.edit { document in try? document.insert(word, at: 0, in: document.root("text", .text)) }))
        }
        world.perform(1, .command(.present(.object([]))))
        try world.settle()
        #expect(world.copies[1].document.client != 1 && world.copies[1].awareness.client == world.copies[1].document.client)
        for copy in 0..<2 {
            world.perform(copy, .command(.edit { document in try? document.insert("after ", at: 0, in: document.root("text", .text)) }))
        }
        try world.settle()
        #expect(world.copies.allSatisfy { $0.status.isSynced })
    }
}
