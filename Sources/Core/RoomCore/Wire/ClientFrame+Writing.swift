import CodecCore

extension ClientFrame {
    /// The frame as JSON, without white space, as docs/rooms-protocol.md has it.
    public func json() -> [UInt8] {
        switch self {
        case .hello(let hello):
            var writer = JSONWriter(frame: "hello", capacity: 256 + hello.joins.count * 128)
            writer.field("v", list: hello.versions) { writer, version in writer.number(version) }
            writer.field("device", hello.device)
            if let token = hello.token { writer.field("token", text: token) }
            if let agent = hello.agent { writer.field("agent", text: agent) }
            writer.field("joins", objects: hello.joins) { writer, join in writer.fields(of: join) }
            return writer.finishFrame()
        case .auth(let token):
            var writer = JSONWriter(frame: "auth", capacity: 32 + token.utf8.count)
            writer.field("token", text: token)
            return writer.finishFrame()
        case .join(let join):
            var writer = JSONWriter(frame: "join", capacity: 256)
            writer.fields(of: join)
            return writer.finishFrame()
        case .leave(let room): return JSONWriter.json("leave", room)
        case .publish(let room, let publication): return publication.json(to: room)
        case .read(let room, let seq):
            var writer = JSONWriter(frame: "read", capacity: 128)
            writer.field("room", text: room.text)
            writer.field("seq", unlessZero: seq)
            return writer.finishFrame()
        case .history(let history):
            var writer = JSONWriter(frame: "hist", capacity: 192)
            writer.field("ref", unlessZero: history.reference)
            writer.field("room", text: history.room.text)
            writer.field("before", unlessZero: history.before)
            writer.field("limit", unlessZero: history.limit)
            return writer.finishFrame()
        case .presence(let room, let presence):
            var writer = JSONWriter(frame: "pres", capacity: 256)
            writer.field("room", text: room.text)
            writer.fields(of: presence)
            return writer.finishFrame()
        case .members(let room): return JSONWriter.json("members", room)
        case .typing(let room, let isOn):
            var writer = JSONWriter(frame: "typ", capacity: 128)
            writer.field("room", text: room.text)
            writer.field("on", ifTrue: isOn)
            return writer.finishFrame()
        case .signal(let room, let signal):
            var writer = JSONWriter(frame: "sig", capacity: 256 + signal.payload.roomOnWire)
            writer.field("room", text: room.text)
            writer.field("type", text: signal.type)
            writer.field(signal.payload)
            return writer.finishFrame()
        case .ping(let number):
            var writer = JSONWriter(frame: "ping", capacity: 48)
            writer.field("n", unlessZero: number)
            return writer.finishFrame()
        }
    }
}

extension Publication {
    fileprivate func json(to room: RoomName) -> [UInt8] {
        var writer = JSONWriter(frame: "pub", capacity: 256 + (content?.payload.roomOnWire ?? 0))
        writer.field("room", text: room.text)
        writer.field("cseq", cseq)
        writer.field("id", id)
        writer.field("at", unlessZero: sent)
        if let content {
            writer.field("type", text: content.type)
            writer.field(content.about)
            writer.field(content.payload)
        }
        writer.field("void", ifTrue: content == nil)
        return writer.finishFrame()
    }
}

extension JSONWriter {
    /// A frame that says nothing but a room.
    fileprivate static func json(_ type: StaticString, _ room: RoomName) -> [UInt8] {
        var writer = JSONWriter(frame: type, capacity: 64 + room.text.utf8.count)
        writer.field("room", text: room.text)
        return writer.finishFrame()
    }

    fileprivate mutating func fields(of join: ClientFrame.Join) {
        field("room", text: join.room.text)
        if join.cursor.epoch != 0 { field("epoch", digits: join.cursor.epoch) }
        field("seq", unlessZero: join.cursor.seq)
        field("limit", unlessZero: join.limit)
        field("presence", ifTrue: join.wantsPresence)
        field("next", join.next)
        if let proof = join.proof { field("proof", digits: proof.bits) }
    }

    mutating func fields(of presence: Presence) {
        field("status", text: presence.status)
        if let meta = presence.meta { field("meta", raw: meta) }
    }
}

extension Payload {
    /// About how many bytes it takes in a frame.
    var roomOnWire: Int {
        switch self {
        case .json(let bytes): bytes.count
        case .binary(let bytes): bytes.count / 3 * 4 + 4
        }
    }
}
