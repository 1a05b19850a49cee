import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// WAMP, "Publishing and Events" and the features of publishers.
@Suite struct BrokerPublishingTests {
    private var stage = RouterStage()

    @Test("an event goes to all subscribers except its publisher") mutating func fanOut() throws {
        let clients = (0..<5).map { _ in stage.join() }
        for client in clients { let _ = try stage.subscribe(client, "a") }
        for publisher in clients {
            stage.publish(publisher, "a", [:], 1, "x")
            #expect(Set(stage.fanOuts.last ?? []) == Set(clients).subtracting([publisher]) && stage.fanOuts.last?.count == 4)
            for client in clients where client != publisher { #expect(try stage.events(client).map(\.list) == [[1, "x"]]) }
            #expect(stage.received(publisher).isEmpty)
        }
    }

    @Test("while sessions come and go, each remaining one gets every event once") mutating func comings() throws {
        var chance = SplitMix64(seed: 3)
        let publisher = stage.join()
        let clients = (0..<20).map { _ in stage.join() }
        var subscribed: [RouterConnection: WAMPID] = [:]
        for _ in 0..<300 {
            let client = clients.randomElement(using: &chance)!
            if let id = subscribed.removeValue(forKey: client) {
                stage.unsubscribe(client, id)
            } else {
                subscribed[client] = try stage.subscribe(client, "a")
            }
            for client in clients { let _ = stage.received(client) }
            stage.publish(publisher, "a")
            for client in clients { #expect(try stage.events(client).count == (subscribed[client] == nil ? 0 : 1)) }
        }
    }

    @Test("a publisher gets its own event if it does not exclude itself") mutating func excludeMe() throws {
        let (ann, bob) = (stage.join(), stage.join())
        for client in [ann, bob] { let _ = try stage.subscribe(client, "a") }
        stage.publish(ann, "a", ["exclude_me": false])
        #expect(try stage.events(ann).count == 1 && stage.events(bob).count == 1)
        stage.publish(ann, "a", ["exclude_me": true])
        #expect(try stage.events(ann).isEmpty && stage.events(bob).count == 1)
    }

    @Test("an acknowledged publication returns the id of the event") mutating func acknowledgement() throws {
        let (ann, bob) = (stage.join(), stage.join())
        let _ = try stage.subscribe(bob, "a")
        stage.publish(ann, "a", ["acknowledge": true])
        let publication = try #require(try stage.events(bob).first?.publication)
        #expect(stage.received(ann) == [.published(request: 1, publication: publication)])
        stage.publish(ann, "a", ["acknowledge": false])
        stage.publish(ann, "nobody.hears", ["acknowledge": true])
        #expect(stage.received(ann).map(\.type) == [17])
    }

    @Test("receivers are filtered by session, authid and role, and all filters must match") mutating func audience() throws {
        let publisher = stage.join()
        let ann = stage.join(as: "ann", role: "user")
        let eve = stage.join(as: "eve", role: "user")
        let root = stage.join(as: "root", role: "admin")
        let clients = [ann, eve, root]
        for client in clients { let _ = try stage.subscribe(client, "a") }
        let ids = try clients.map { Value(try stage.session(of: $0)) }
        func expect(_ options: ValueMap, _ expected: RouterConnection..., stage: inout RouterStage) throws {
            stage.publish(publisher, "a", options)
            for client in clients { #expect(try stage.events(client).count == (expected.contains(client) ? 1 : 0), "\(options)") }
        }
        try expect(["exclude": [ids[0], ids[2], 99]], eve, stage: &stage)
        try expect(["exclude": []], ann, eve, root, stage: &stage)
        try expect(["eligible": [ids[1]]], eve, stage: &stage)
        try expect(["eligible": []], stage: &stage)
        try expect(["exclude_authid": ["ann"]], eve, root, stage: &stage)
        try expect(["exclude_authrole": ["user"]], root, stage: &stage)
        try expect(["eligible_authid": ["ann", "root"]], ann, root, stage: &stage)
        try expect(["eligible_authrole": ["user"], "exclude_authid": ["eve"]], ann, stage: &stage)
        try expect(["eligible": [ids[0], ids[1]], "exclude": [ids[0]]], eve, stage: &stage)
        try expect(["eligible_authid": ["ann"], "eligible_authrole": ["admin"]], stage: &stage)
    }

    @Test(
        "the publisher is disclosed if it asks for that and the router allows it",
        arguments: [(nil, nil, false), (nil, true, true), (nil, false, false), (true, nil, true), (true, false, true), (false, nil, false)]
            as [(Bool?, Bool?, Bool)])
    mutating func disclosure(policy: Bool?, wish: Bool?, isNamed: Bool) throws {
        stage = RouterStage(RouterPolicy(discloses: policy))
        let (ann, bob) = (stage.join(as: "ann", role: "user"), stage.join())
        let _ = try stage.subscribe(bob, "a")
        stage.publish(ann, "a", wish.map { ["disclose_me": .bool($0)] } ?? [:])
        let details = try #require(try stage.events(bob).first).details
        let named: ValueMap = ["publisher": Value(try stage.session(of: ann)), "publisher_authid": "ann", "publisher_authrole": "user"]
        #expect(details == (isNamed ? named : [:]))
    }

    @Test("asking for disclosure where the router forbids it is an error, and nothing is published") mutating func noDisclosure() throws {
        stage = RouterStage(RouterPolicy(discloses: false))
        let (ann, bob) = (stage.join(), stage.join())
        let _ = try stage.subscribe(bob, "a")
        stage.publish(ann, "a", ["disclose_me": true, "acknowledge": true])
        stage.publish(ann, "a", ["disclose_me": true])
        #expect(stage.received(ann).map(\.reason) == [WAMPURI.Error.discloseMeDisallowed])
        #expect(try stage.events(bob).isEmpty)
    }

    @Test("the events of one publisher keep their order") mutating func order() throws {
        // This prefix subscription would also match the meta event of its own creation.
        stage = RouterStage(RouterPolicy(hasMetaAPI: false))
        let (ann, bob) = (stage.join(), stage.join())
        let _ = try (stage.subscribe(bob, "a"), stage.subscribe(bob, "", ["match": "prefix"]))
        for number in 0..<50 as Range<Int64> { stage.publish(ann, number % 3 == 0 ? "b" : "a", [:], .integer(number)) }
        let events = try stage.events(bob)
        for subscription in Set(events.map(\.subscription)) {
            let numbers = events.filter { $0.subscription == subscription }.compactMap { $0.list[0].int }
            #expect(numbers == numbers.sorted() && numbers.count > 30)
        }
    }

    @Test("realms are isolated from each other") mutating func realms() throws {
        let (ann, bob) = (stage.join("one"), stage.join("two"))
        let _ = try stage.subscribe(bob, "a")
        stage.publish(ann, "a")
        #expect(try stage.events(bob).isEmpty)
    }
}
