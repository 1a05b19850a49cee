import Foundation
import HoldfastGraphQL

/// Reads events of several subscriptions, and prints the processor time that this took; see `Benchmarks/graphql`.
struct GraphQLReading {
    let url: String
    let subscriptions: Int
    /// The number of events of each subscription.
    let events: Int

    func run() async throws {
        struct Count: Decodable { var count: Int }
        let client = GraphQLClient(url)
        try await client.ready(within: .seconds(20))
        let operation = GraphQLOperation(
            "subscription S($to: Int!) { count(to: $to, delayMs: 0) }", variables: ["to": events], data: Count.self)
        let start = ProcessorTime.now
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<subscriptions {
                group.addTask {
                    var sum = 0
                    for try await event in client.subscribe(operation) { if let data = event.data { sum += data.count } }
                    return sum
                }
            }
            for try await sum in group where sum != events * (events - 1) / 2 { throw Suite.Failure(description: "the sum is \(sum)") }
        }
        let time = ProcessorTime.now - start
        print("microseconds \(time * 1_000_000 / Double(subscriptions * events))")
        await client.close()
    }
}
