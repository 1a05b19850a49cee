// Events: who gets what, patterns, several types on one topic, and gaps. Start `holdfast serve wamp`, then run this.
import HoldfastWAMP

enum API {
    static let add = Procedure<(Int, Int), Int>("com.example.add")
    static let news = Topic<String>("com.example.news")
}
let client = WAMPClient("ws://127.0.0.1:9001/", realm: "realm1")

// snippet.BOTH
func hear() async throws {
    let events = try await client.subscribe(API.news)
    try await client.publish(API.news, "hello", options: PublishOptions(excludesMe: false))
    for try await event in events { print("\(event.topic) \(event.publication): \(event.content)") }
}
// snippet.end

// snippet.OPTIONS
let options = PublishOptions(isAcknowledged: true, excludesMe: false, eligible: .init(authRoles: ["editor"]), isRetained: true)
let publication = try await client.publish(API.news, "for editors", options: options)
// snippet.end

// snippet.PATTERNS
func hearMuch() async throws {
    let anything = Topic<String>("com.example.", match: .prefix)
    let created = Topic<String>("com..created", match: .wildcard)
    let news = try await client.subscribe(anything)
    let more = try await client.subscribe(created)
    async let hearing: Void = { for try await event in news { print("\(event.topic): \(event.content)") } }()
    for try await event in more { print("\(event.topic) was created: \(event.content)") }
    try await hearing
}
// snippet.end

// snippet.TYPES
struct Joined: Codable, Sendable { var userid: Int }
struct Left: Codable, Sendable { var userid: Int, reason: String? }
enum Member: Sendable { case joined(Joined), left(Left) }

let types = EventTypes<Member>(at: .place(0))
    .with(50, as: Joined.self, in: .place(4)) { .joined($0) }
    .with(51, as: Left.self, in: .place(4)) { .left($0) }
let members = Topic<Member>("com.example.members", form: types.form)
// snippet.end

// snippet.GAPS
func hearWithGaps(_ events: Events<String>) async throws {
    for try await item in events.withGaps {
        switch item {
        case .event(let event): print(event.content)
        case .gap(let gap): print("some may be missing: \(gap)")
        case .undecodable(let error): print(error)
        }
    }
}
// snippet.end

// snippet.STATES
func watch() async {
    for await state in client.states {
        switch state {
        case .connecting: print("connecting")
        case .joined(let session): print("session \(session.id) of \(session.realm)")
        case .waiting(let cause): print("again soon; \(cause.map { "\($0)" } ?? "lost")")
        case .closed(let error): print("over: \(error.map { "\($0)" } ?? "closed here")")
        }
    }
}
// snippet.end

print("publication \(publication.map { "\($0)" } ?? "unknown")")
async let watching: Void = watch()
async let hearing: Void = hear()
async let more: Void = hearMuch()
for try await event in try await client.subscribe(members) { print(event.content) }
try await hearing
try await more
await watching
