// A chat over WAMP: a topic for each room, and a procedure for what was said before.
// Start `holdfast serve wamp`, then `WAMPChat archive` once, and `WAMPChat lobby ann` for each who talks.
import Foundation
import HoldfastWAMP

struct Line: Codable, Sendable {
    var id = UUID()
    var from: String
    var text: String
}

enum Chat {
    static let everyRoom = "com.example.chat.room."
    static func room(_ name: String) -> Topic<Line> { Topic(everyRoom + name) }
    static let history = Procedure<(String, Int), [Line]>("com.example.chat.history")
}

// snippet.ARCHIVE
actor Archive {
    private var lines: [String: [Line]] = [:]

    func add(_ line: Line, to room: String) {
        lines[room, default: []].append(line)
        lines[room] = lines[room]?.suffix(1000)
    }

    func last(_ count: Int, of room: String) -> [Line] { (lines[room] ?? []).suffix(max(count, 0)) }
}

func keepArchive(with client: WAMPClient) async throws {
    let archive = Archive()
    let rooms = Topic<Line>(Chat.everyRoom, match: .prefix)
    let events = try await client.subscribe(rooms, options: SubscribeOptions(historyAfterGap: 1000))
    let registration = try await client.register(Chat.history) { input, _ in
        let (room, count) = input
        guard count > 0 else { throw WAMPFailure("com.example.chat.error.no_count", ["ask for at least one line"]) }
        return await archive.last(count, of: room)
    }
    for try await event in events {
        await archive.add(event.content, to: String(event.topic.dropFirst(Chat.everyRoom.count)))
    }
    registration.unregister()
}
// snippet.end

// snippet.PAST
func past(_ count: Int, of room: String, with client: WAMPClient) async -> [Line] {
    do throws(WAMPError) {
        return try await client.call(Chat.history, room, count, options: CallOptions(timeout: .seconds(5)))
    } catch {
        print("what was said before is not known: \(error)")
        return []
    }
}
// snippet.end

// snippet.ROOM
func follow(_ room: String, with client: WAMPClient) async throws {
    let events = try await client.subscribe(Chat.room(room))
    var seen: Set<UUID> = []
    func show(_ line: Line) { if seen.insert(line.id).inserted { print("\(line.from): \(line.text)") } }

    for line in await past(20, of: room, with: client) { show(line) }
    for try await item in events.withGaps {
        switch item {
        case .event(let event): show(event.content)
        case .gap: for line in await past(200, of: room, with: client) { show(line) }
        case .undecodable(let error): print(error)
        }
    }
}
// snippet.end

// snippet.TALK
func talk(in room: String, as name: String, with client: WAMPClient) async throws {
    // What was typed is shown when it comes back: then it stands in the order that others see.
    let options = PublishOptions(isAcknowledged: true, excludesMe: false)
    while let text = readLine() {
        do throws(WAMPError) {
            try await client.publish(Chat.room(room), Line(from: name, text: text), options: options)
        } catch {
            print("not sent: \(error)")
        }
    }
}
// snippet.end

let client = WAMPClient("ws://127.0.0.1:9001/", realm: "realm1")
let arguments = CommandLine.arguments.dropFirst()
if let room = arguments.first, let name = arguments.dropFirst().first {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await follow(room, with: client) }
        try await talk(in: room, as: name, with: client)
        group.cancelAll()
    }
} else {
    try await keepArchive(with: client)
}
await client.close()
