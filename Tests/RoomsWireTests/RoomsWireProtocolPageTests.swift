import Foundation
import RoomCore
import Testing

/// The example frames of docs/rooms-protocol.md, with values in place of `…` and `ENTRY`.
private struct ProtocolPage {
    let examples: [String]

    init() throws {
        var file = URL(filePath: #filePath)
        for _ in 0..<3 { file.deleteLastPathComponent() }
        let page = try String(contentsOf: file.appending(path: "docs/rooms-protocol.md"), encoding: .utf8)
        let entry = try #require(page.split(separator: "\n").first { $0.hasPrefix("ENTRY {") }).dropFirst("ENTRY ".count)
        examples = ProtocolPage.frames(in: page).map { ProtocolPage.filled(in: $0.replacing("ENTRY,…", with: entry)) }
    }

    /// Each text from the type of a frame to its last bracket.
    private static func frames(in page: String) -> [String] {
        var (frames, rest) = ([] as [String], page[...])
        while let start = rest.range(of: #"{"t":"#) {
            var (depth, end) = (0, start.lowerBound)
            repeat {
                if rest[end] == "{" { depth += 1 }
                if rest[end] == "}" { depth -= 1 }
                end = rest.index(after: end)
            } while depth > 0
            frames.append(String(rest[start.lowerBound..<end]))
            rest = rest[end...]
        }
        return frames
    }

    private static func filled(in frame: String) -> String {
        var frame = frame.replacing("JOIN,…", with: #"{"room":"abc"}"#).replacing("{…}", with: "{}").replacing("[…]", with: "[]")
        let texts = [
            "device": "0123456789abcdef0123456789abcdef", "epoch": "0f3a000000000001", "incarnation": "0f3a000000000001",
            "proof": "0123456789abcdef0123456789abcdef", "id": "01937a3e-7c1b-7000-8000-000000000001",
            "highId": "01937a3e-7c1b-7000-8000-000000000001",
        ]
        for (key, text) in texts { frame = frame.replacing("\"\(key)\":\"…\"", with: "\"\(key)\":\"\(text)\"") }
        return frame.replacing("\"room\":…", with: #""room":"abc""#).replacing("\"…\"", with: #""something""#)
            .replacing(":…", with: ":1").replacing(":n,", with: ":3,").replacing("high+1", with: "8")
    }
}

@Suite struct RoomsWireProtocolPageTests {
    @Test func `every example of the protocol page is a valid frame`() throws {
        let examples = try ProtocolPage().examples
        #expect(examples.count >= 25)
        for example in examples {
            let (client, hub) = (try? client(example), try? hub(example))
            #expect(client != nil || hub != nil, "\(example): \(complaint(example) as Any), \(hubComplaint(example) as Any)")
        }
    }

    @Test func `the protocol page has a frame of every type`() throws {
        var types = (client: Set<String>(), hub: Set<String>())
        for example in try ProtocolPage().examples {
            let type = String(example.dropFirst(#"{"t":""#.count).prefix { $0 != "\"" })
            if (try? client(example)) != nil { types.client.insert(type) }
            if (try? hub(example)) != nil { types.hub.insert(type) }
        }
        #expect(
            types.client
                == ["hello", "auth", "join", "leave", "pub", "read", "hist", "pres", "members", "typ", "sig", "ping"])
        // For these three types the page has only the client's form, and describes the hub's.
        #expect(
            types.hub.union(["read", "typ", "sig"])
                == [
                    "welcome", "renewed", "state", "msg", "ack", "hole", "lag", "page", "read", "members", "typ", "sig", "error", "pong",
                    "goaway",
                ])
    }
}
