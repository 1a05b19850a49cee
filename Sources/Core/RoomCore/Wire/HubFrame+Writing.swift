import CodecCore

extension HubFrame {
    /// Returns the frame as JSON without white space, as docs/rooms-protocol.md defines it.
    package func json() -> [UInt8] {
        switch self {
        case .welcome(let welcome): return welcome.json()
        case .renewed(let expires):
            var writer = JSONWriter(frame: "renewed", capacity: 64)
            writer.field("expires", unlessZero: expires)
            return writer.finishFrame()
        case .state(let state): return state.json()
        case .entries(let room, let epoch, let entries, let proof):
            var writer = JSONWriter(frame: "msg", capacity: 128 + entries.roomOnWire)
            writer.field("room", text: room.text)
            writer.field("epoch", digits: epoch)
            writer.field("items", objects: entries) { writer, entry in writer.fields(of: entry) }
            if let proof { writer.field("proof", digits: proof.bits) }
            return writer.finishFrame()
        case .acks(let room, let epoch, let acks):
            var writer = JSONWriter(frame: "ack", capacity: 128 + acks.count * 128)
            writer.field("room", text: room.text)
            writer.field("epoch", digits: epoch)
            writer.field("acks", objects: acks) { writer, ack in writer.fields(of: ack) }
            return writer.finishFrame()
        case .hole(let room, let expected): return JSONWriter.json("hole", room, "expected", expected)
        case .lag(let room, let head): return JSONWriter.json("lag", room, "head", head)
        case .page(let page):
            var writer = JSONWriter(frame: "page", capacity: 192 + page.items.roomOnWire)
            writer.field("ref", unlessZero: page.reference)
            writer.field("room", text: page.room.text)
            writer.field("epoch", digits: page.epoch)
            writer.field("items", objects: page.items) { writer, entry in writer.fields(of: entry) }
            writer.field("base", unlessZero: page.base)
            return writer.finishFrame()
        case .read(let room, let user, let seq):
            var writer = JSONWriter(frame: "read", capacity: 192)
            writer.field("room", text: room.text)
            writer.field("user", text: user.text)
            writer.field("seq", unlessZero: seq)
            return writer.finishFrame()
        case .members(let members): return members.json()
        case .typing(let room, let user, let isOn):
            var writer = JSONWriter(frame: "typ", capacity: 192)
            writer.field("room", text: room.text)
            writer.field("user", text: user.text)
            writer.field("on", ifTrue: isOn)
            return writer.finishFrame()
        case .signal(let room, let user, let connection, let signal):
            var writer = JSONWriter(frame: "sig", capacity: 256 + signal.payload.roomOnWire)
            writer.field("room", text: room.text)
            writer.field("user", text: user.text)
            writer.field("conn", text: connection)
            writer.field("type", text: signal.type)
            writer.field(signal.payload)
            return writer.finishFrame()
        case .refusal(let refusal): return refusal.json()
        case .pong(let number, let now):
            var writer = JSONWriter(frame: "pong", capacity: 64)
            writer.field("n", unlessZero: number)
            writer.field("now", unlessZero: now)
            return writer.finishFrame()
        case .goaway(let goaway):
            var writer = JSONWriter(frame: "goaway", capacity: 64)
            writer.field("after", unlessZero: goaway.after)
            writer.field("drain", unlessZero: goaway.drain)
            return writer.finishFrame()
        }
    }
}

extension HubFrame.Welcome {
    fileprivate func json() -> [UInt8] {
        var writer = JSONWriter(frame: "welcome", capacity: 512)
        writer.field("v", version)
        writer.field("conn", text: connection)
        writer.field("user", text: user.text)
        writer.field("now", unlessZero: now)
        writer.field("expires", unlessZero: expires)
        writer.field("window", unlessZero: window)
        writer.field("limits") { writer in
            writer.field("frame", limits.frame)
            writer.field("body", limits.body)
            writer.field("roomWindow", limits.roomWindow)
            writer.field("window", limits.window)
            writer.field("rooms", limits.rooms)
            writer.field("page", limits.page)
            writer.field("members", limits.members)
        }
        return writer.finishFrame()
    }
}

extension HubFrame.RoomState {
    fileprivate func json() -> [UInt8] {
        var writer = JSONWriter(frame: "state", capacity: 384 + items.roomOnWire + reads.count * 64)
        writer.field("room", text: room.text)
        writer.field("epoch", digits: epoch)
        writer.field("from", unlessZero: from)
        writer.field("to", unlessZero: to)
        writer.field("head", unlessZero: head)
        writer.field("base", unlessZero: base)
        writer.field("items", objects: items) { writer, entry in writer.fields(of: entry) }
        writer.field("snapshot", ifTrue: isSnapshot)
        writer.field("more", ifTrue: hasMore)
        writer.field("high", unlessZero: high)
        if let highID { writer.field("highId", highID) }
        writer.field("rights", text: rights.description)
        writer.field("reads", objects: reads) { writer, marker in
            writer.field("user", text: marker.user.text)
            writer.field("seq", unlessZero: marker.seq)
        }
        if let proof { writer.field("proof", digits: proof.bits) }
        return writer.finishFrame()
    }
}

extension HubFrame.RoomMembers {
    fileprivate func json() -> [UInt8] {
        var writer = JSONWriter(frame: "members", capacity: 256 + members.count * 128 + gone.count * 32)
        writer.field("room", text: room.text)
        writer.field("node", text: node)
        writer.field("incarnation", digits: incarnation)
        writer.field("version", unlessZero: version)
        writer.field("full", ifTrue: isFull)
        writer.field("total", unlessZero: total)
        writer.field("members", objects: members) { writer, member in
            writer.field("conn", text: member.connection)
            writer.field("user", text: member.user.text)
            writer.fields(of: member.presence)
        }
        writer.field("gone", list: gone) { writer, connection in writer.text(connection) }
        return writer.finishFrame()
    }
}

extension Refusal {
    fileprivate func json() -> [UInt8] {
        var writer = JSONWriter(frame: "error", capacity: 256 + text.utf8.count)
        writer.field("code", code.rawValue)
        writer.field("retry", text: retry.word)
        if case .after(let milliseconds) = retry { writer.field("after", unlessZero: milliseconds) }
        if let room { writer.field("room", text: room.text) }
        if let cseq { writer.field("cseq", cseq) }
        if let reference { writer.field("ref", reference) }
        writer.field("versions", list: versions) { writer, version in writer.number(version) }
        writer.field("text", text: text)
        return writer.finishFrame()
    }
}

extension Refusal.Retry {
    fileprivate var word: String {
        switch self {
        case .never: "never"
        case .now: "now"
        case .after: "after"
        case .reconnect: "reconnect"
        }
    }
}

extension JSONWriter {
    /// Returns a frame that contains a room and a number.
    fileprivate static func json(_ type: StaticString, _ room: RoomName, _ key: StaticString, _ number: Int64) -> [UInt8] {
        var writer = JSONWriter(frame: type, capacity: 96 + room.text.utf8.count)
        writer.field("room", text: room.text)
        writer.field(key, unlessZero: number)
        return writer.finishFrame()
    }

    fileprivate mutating func fields(of entry: Entry) {
        field("seq", entry.seq)
        field("id", entry.id)
        field("device", entry.device)
        field("cseq", entry.cseq)
        field("user", text: entry.user.text)
        field("at", unlessZero: entry.at)
        field("sent", unlessZero: entry.sent)
        field("type", text: entry.type)
        field(entry.about)
        field(entry.payload)
        field("admin", ifTrue: entry.isAdmin)
    }

    fileprivate mutating func fields(of ack: HubFrame.Ack) {
        field("cseq", ack.cseq)
        field("seq", unlessZero: ack.seq)
        field("at", unlessZero: ack.at)
        if let id = ack.id { field("id", id) }
        field("dup", ifTrue: ack.isDuplicate)
    }
}

extension [Entry] {
    /// The approximate size in a frame, in bytes.
    fileprivate var roomOnWire: Int { reduce(0) { $0 + 288 + $1.payload.roomOnWire } }
}
