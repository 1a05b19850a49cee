// A GraphQL subscription that survives: `GraphQLEvents ws://127.0.0.1:PORT/graphql TOKEN`, with the server of Interop/graphql.
import HoldfastGraphQL

let url = CommandLine.arguments.dropFirst().first ?? "ws://127.0.0.1:9100/graphql"
let token = CommandLine.arguments.dropFirst(2).first ?? "sesame"

// snippet.OPERATION
struct Count: Decodable, Sendable { var count: Int }

let counting = GraphQLOperation(
    "subscription Count($to: Int!, $start: Int!) { count(to: $to, start: $start) }", variables: ["to": 5, "start": 0], data: Count.self)
// snippet.end

// snippet.CLIENT
let client = GraphQLClient(url) { ["token": token] }
// snippet.end

// snippet.SUBSCRIBE
func follow() async throws {
    for try await event in client.subscribe(counting) {
        switch event {
        case .response(let response): print(response.data?.count ?? -1, response.errors)
        case .gap(let away): print("events may be missing: there was no connection for \(away)")
        case .undecodable(let failure): print(failure)
        }
    }
}
// snippet.end

// snippet.CURSOR
/// Follows the numbers, and asks after each reconnect only for those that are missing.
func followFromCursor() async throws {
    let events = client.subscribe(counting, renewing: { last in ["to": 5, "start": last.map { $0.count + 1 } ?? 0] })
    for try await event in events { if let count = event.data?.count { print(count) } }
}
// snippet.end

// snippet.ASK
func greet(_ name: String) async throws -> String? {
    let hello = GraphQLOperation("query($name: String) { hello(name: $name) }", variables: ["name": .text(name)])
    return try await client.query(hello).complete()["hello"]?.string
}
// snippet.end

// snippet.MUTATE
func add(_ key: String) async {
    let adding = GraphQLOperation("mutation($key: String!) { add(key: $key) }", variables: ["key": .text(key)])
    do throws(GraphQLFailure) {
        let response = try await client.mutate(adding)
        print("added:", response.data ?? .null, response.errors)
    } catch {
        print(error.mayHaveArrived ? "the server may have added it: ask first" : "nothing was added: \(error)")
    }
}
// snippet.end

// snippet.SCREEN
/// At most 30 batches a second, with the newest event.
func draw(_ show: (Int) -> Void) async throws {
    for try await batch in client.batches(of: counting, delivery: .latest.atMost(perSecond: 30)) {
        if let count = batch.last?.data?.count { show(count) }
    }
}
// snippet.end

try await follow()
try await followFromCursor()
print(try await greet("ann") ?? "no answer")
await add("snippet")
try await draw { print("shown: \($0)") }
await client.close()
print("closed")
