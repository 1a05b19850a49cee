import RoomCore
import RoomsWire

/// The hub's work for a message in a room: it decodes the publication and encodes its entry.
enum RoomFrames {
    private static let body = Payload.json(Array(#"{"text":"I will be there at eight, keep me a place"}"#.utf8))
    private static let id = MessageID("01937a3e-7c1b-7000-8000-000000000001")!

    static func encodeEntry(_ encoding: RoomsEncoding, _ messages: Int) throws {
        let entry = Entry(
            seq: 58_123, id: id, device: DeviceID("0123456789abcdef0123456789abcdef")!, cseq: 812, user: UserName("ann")!,
            at: 1_795_309_200_123, sent: 1_795_309_200_045, type: "chat.text", payload: body)
        let frame = HubFrame.entries(RoomName("kitchen")!, epoch: 0x0f3a_0123_4567_89ab, [entry])
        let length = encoding.bytes(of: frame).count
        var byteCount = 0
        for _ in 0..<messages { byteCount += encoding.bytes(of: frame).count }
        try Failure.check("bytes encoded", byteCount, messages * length)
    }

    static func decodePublication(_ encoding: RoomsEncoding, _ messages: Int) throws {
        let content = Publication.Content(type: "chat.text", payload: body)
        let frame = ClientFrame.publish(
            RoomName("kitchen")!, Publication(cseq: 812, id: id, sent: 1_795_309_200_045, content: content))
        let bytes = encoding.bytes(of: frame)
        var numbers: Int64 = 0
        for _ in 0..<messages {
            let read = try bytes.withUnsafeBytes { try encoding.decodeClientFrame($0, isText: encoding.isText) }
            if case .publish(_, let publication) = read { numbers += publication.cseq }
        }
        try Failure.check("numbers decoded", numbers, Int64(messages) * 812)
    }
}
