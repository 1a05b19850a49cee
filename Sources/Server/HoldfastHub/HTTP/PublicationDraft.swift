import CodecCore
import Foundation
import RoomCore

/// What a program wants to publish, as it wrote it in JSON.
struct PublicationDraft {
    let user: UserName
    let content: Publication.Content
    let sent: Int64

    private struct Author: Decodable { let user: String? }

    /// Nil if it is none.
    init?(_ json: [UInt8], in room: RoomName, id: MessageID, now: Int64) {
        // Read as a frame `pub`, so that the payload stays as it was written: what the hub adds comes last, where it holds.
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        guard let first = json.firstIndex(where: { !space.contains($0) }), json[first] == UInt8(ascii: "{"),
            let last = json.lastIndex(where: { !space.contains($0) }), json[last] == UInt8(ascii: "}"), first < last,
            let author = try? JSONDecoder().decode(Author.self, from: Data(json)),
            let user = UserName(author.user ?? "server")
        else { return nil }
        let inner = json[(first + 1)..<last]
        guard inner.contains(where: { !space.contains($0) }) else { return nil }
        let frame =
            Array("{\"at\":\(now),".utf8) + inner
            + Array(",\"t\":\"pub\",\"room\":\(room.text.inJSON),\"cseq\":1,\"id\":\"\(id)\",\"void\":false}".utf8)
        let decoded = frame.withUnsafeBytes { bytes -> ClientFrame? in (try? ClientFrame.decode(json: bytes)) ?? nil }
        guard case .publish(_, let publication)? = decoded, let content = publication.content else { return nil }
        (self.user, self.content, sent) = (user, content, publication.sent)
    }
}
