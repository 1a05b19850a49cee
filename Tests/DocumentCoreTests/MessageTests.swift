import CodecCore
import DocumentCore
import Foundation
import Testing

@Suite struct `Messages about documents` {
    @Test func `a conversation with Hocuspocus is read and written byte by byte`() throws {
        let file = try Value(json: [UInt8](Data(contentsOf: Vectors.folder.appending(path: "hocuspocus-frames.json"))))
        var kinds: Set<String> = []
        for step in file.objects("steps") {
            for frame in [step.string("client")] + step.objects("server").compactMap(\.string) {
                let (document, message) = try DocumentMessage.named([UInt8](hex: frame))
                if step.string("what").hasPrefix("broadcast"), document == "doc" {
                    #expect(message == nil)
                    continue
                }
                let known = try #require(message, "\(frame)")
                #expect(known.bytes(document: document).hex == frame)
                kinds.insert("\(known)".prefix { $0 != "(" }.description)
            }
        }
        #expect(kinds == ["token", "denied", "authenticated", "sync", "status", "awareness", "awarenessQuery", "text", "closed"])
    }

    @Test func `two copies that talk over y-websocket end equal`() throws {
        var one = SharedDocument(client: 1), two = SharedDocument(client: 2)
        let texts = [one.root("text", .text), two.root("text", .text)]
        try one.insert("one", at: 0, in: texts[0])
        try two.insert("two", at: 0, in: texts[1])
        (_, _) = (one.commit(), two.commit())
        // Several messages in one, as some servers send them.
        let hello = try #require(DocumentMessage.sync(.stateVector(one.stateVector)).bytes) + #require(DocumentMessage.awarenessQuery.bytes)
        #expect(try DocumentMessage.messages(hello) == [.sync(.stateVector(one.stateVector)), .awarenessQuery])
        let answer = try #require(DocumentMessage.sync(.missing(two.update(since: one.stateVector))).bytes)
        guard case .sync(.missing(let update))? = try DocumentMessage.messages(answer).first else { throw DocumentError(.malformed) }
        try one.apply(update)
        try two.apply(one.update(since: two.stateVector))
        #expect(one.text(texts[0]) == two.text(texts[1]) && one.text(texts[0]).count == 6)
    }

    @Test func `each protocol has its own numbers`() throws {
        for message in [
            DocumentMessage.ping, .pong, .tokenQuery, .reply(.update([1])), .text("x"), .closed(reason: "x"), .status(isTaken: true),
        ] {
            #expect(message.bytes == nil)
            #expect(try DocumentMessage.named(message.bytes(document: "d")).message == message)
        }
        #expect(DocumentMessage.denied(reason: "no").bytes?.hex == "0200026e6f")
        #expect(DocumentMessage.denied(reason: "no").bytes(document: "d").hex == "0164020102" + "6e6f")
        for hex in ["04", "0009", "00", "0103", "0201", "05", "09", "0000ff"] {
            #expect(throws: DocumentError.self, "\(hex)") { try DocumentMessage.messages([UInt8](hex: hex)) }
        }
        for hex in ["", "05", "0164", "01640005", "01640209"] {
            #expect(throws: DocumentError.self, "\(hex)") { try DocumentMessage.named([UInt8](hex: hex)) }
        }
    }
}
