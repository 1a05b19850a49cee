import HoldfastServer
import Testing

/// The order of clients on an event loop.
@Suite struct FairQueueTests {
    @Test func `clients take turns, and each keeps its order`() {
        var queue = FairQueue<String, (client: String, number: Int)>()
        for number in 1...100 { queue.add(("loud", number), of: "loud") }
        queue.add(("calm", 1), of: "calm")
        queue.add(("loud", 101), of: "loud")
        queue.add(("calm", 2), of: "calm")
        var order: [String] = []
        var numbers: [String: [Int]] = [:]
        while !queue.isEmpty {
            let next = queue.next()
            #expect(!next.isEmpty && next.count <= 8 && Set(next.map(\.client)).count == 1)
            order.append(next[0].client)
            for item in next { numbers[item.client, default: []].append(item.number) }
        }
        #expect(order.prefix(2) == ["loud", "calm"] && numbers == ["loud": Array(1...101), "calm": [1, 2]])
        #expect(queue.next().isEmpty)
    }
}
