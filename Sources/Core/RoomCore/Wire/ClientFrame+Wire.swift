import CodecCore

extension ClientFrame {
    /// Reads a frame from JSON.
    ///
    /// The lengths of types, kinds and payloads are not checked here, because the hub refuses them with a better answer.
    ///
    /// - Returns: Nil for an unknown type, which must be ignored.
    /// - Throws: A `FrameError` if the bytes are not a valid frame.
    package static func decode(json bytes: UnsafeRawBufferPointer) throws(FrameError) -> ClientFrame? {
        unsafe try readFrame(bytes, isStrict: true) { frame throws(FrameError) in
            switch frame.type {
            case "pub": try publication(&frame)
            case "hello": .hello(try hello(&frame))
            case "auth": .auth(token: try frame.token())
            case "join": .join(try Join(&frame))
            case "leave": .leave(try frame.room())
            case "read": try read(&frame)
            case "hist": .history(try History(&frame))
            case "pres": try presence(&frame)
            case "members": .members(try frame.room())
            case "typ": try typing(&frame)
            case "sig": try signal(&frame)
            case "ping": .ping(try frame.number("n"))
            default: try unknown(&frame)
            }
        }
    }

    private static func unknown(_ frame: inout FrameObject) throws(FrameError) -> ClientFrame? {
        try frame.skip()
        return nil
    }

    private static func publication(_ frame: inout FrameObject) throws(FrameError) -> ClientFrame {
        var (room, cseq, id, sent): (RoomName?, Int64?, MessageID?, Int64) = (nil, nil, nil, 0)
        var (type, about, payload, isVoid): (String?, Reference?, Payload?, Bool) = (nil, nil, nil, false)
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "cseq": cseq = try frame.reader.number("cseq", from: 1)
            case "id": id = try frame.reader.messageID()
            case "at": sent = try frame.reader.number("at")
            case "type": type = try frame.reader.type(upTo: .max)
            case "about": about = try frame.reader.reference(kindUpTo: .max)
            case "body": payload = try frame.reader.json()
            case "bin": payload = try frame.reader.binary()
            case "void": isVoid = try frame.reader.flag("void")
            default: try frame.reader.skip()
            }
        }
        var content: Publication.Content?
        if !isVoid {
            content = Publication.Content(type: try type.needed("type"), about: about, payload: try payload.needed("body"))
        }
        let publication = Publication(cseq: try cseq.needed("cseq"), id: try id.needed("id"), sent: sent, content: content)
        return .publish(try room.needed("room"), publication)
    }

    private static func hello(_ frame: inout FrameObject) throws(FrameError) -> Hello {
        var (versions, device, token, agent, joins): ([Int64], DeviceID?, String?, String?, [Join]) = ([], nil, nil, nil, [])
        while let key = try frame.key() {
            switch key {
            case "v": versions = try frame.reader.numbers("v", upTo: RoomsLimits.versions)
            case "device": device = try frame.reader.device()
            case "token": token = try frame.reader.text("token")
            case "agent": agent = try frame.reader.text("agent", upTo: RoomsLimits.nameLength)
            case "joins": joins = try frame.reader.list("joins", upTo: RoomsLimits.joins, Join.init)
            default: try frame.reader.skip()
            }
        }
        return Hello(versions: versions, device: try device.needed("device"), token: token, agent: agent, joins: joins)
    }

    private static func read(_ frame: inout FrameObject) throws(FrameError) -> ClientFrame {
        var (room, seq): (RoomName?, Int64) = (nil, 0)
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "seq": seq = try frame.reader.number("seq")
            default: try frame.reader.skip()
            }
        }
        return .read(try room.needed("room"), upTo: seq)
    }

    private static func presence(_ frame: inout FrameObject) throws(FrameError) -> ClientFrame {
        var (room, presence): (RoomName?, Presence) = (nil, Presence())
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "status": presence.status = try frame.reader.text("status")
            case "meta": presence.meta = try frame.reader.raw()
            default: try frame.reader.skip()
            }
        }
        return .presence(try room.needed("room"), presence)
    }

    private static func typing(_ frame: inout FrameObject) throws(FrameError) -> ClientFrame {
        var (room, isOn): (RoomName?, Bool) = (nil, false)
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "on": isOn = try frame.reader.flag("on")
            default: try frame.reader.skip()
            }
        }
        return .typing(try room.needed("room"), isOn)
    }

    private static func signal(_ frame: inout FrameObject) throws(FrameError) -> ClientFrame {
        var (room, type, payload): (RoomName?, String?, Payload?) = (nil, nil, nil)
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "type": type = try frame.reader.type(upTo: .max)
            case "body": payload = try frame.reader.json()
            case "bin": payload = try frame.reader.binary()
            default: try frame.reader.skip()
            }
        }
        return .signal(try room.needed("room"), Signal(type: try type.needed("type"), payload: try payload.needed("body")))
    }

    /// Returns the frame as JSON without white space, as docs/rooms-protocol.md defines it.
    package func json() -> [UInt8] {
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

extension ClientFrame.Join {
    private struct Fields {
        var room: RoomName?
        var (epoch, seq): (UInt64, Int64) = (0, 0)
        var (limit, next): (Int64, Int64) = (0, 1)
        var wantsPresence = false
        var proof: CursorProof?

        mutating func take(_ key: FrameWord, from reader: inout FrameReader) throws(FrameError) {
            switch key {
            case "room": room = try reader.room()
            case "epoch": epoch = try reader.epoch()
            case "seq": seq = try reader.number("seq", from: -RoomsLimits.number)
            case "limit": limit = try reader.number("limit")
            case "presence": wantsPresence = try reader.flag("presence")
            case "next": next = max(try reader.number("next"), 1)
            case "proof": proof = try reader.proof()
            default: try reader.skip()
            }
        }

        func join() throws(FrameError) -> ClientFrame.Join {
            // Only a client that has no entries may request the last ones.
            guard seq >= 0 || epoch == 0 else { throw FrameError(.outOfRange, field: "seq", at: 0) }
            return ClientFrame.Join(
                room: try room.needed("room"), cursor: LogPosition(epoch: epoch, seq: seq), limit: limit, wantsPresence: wantsPresence,
                next: next, proof: proof)
        }
    }

    fileprivate init(_ frame: inout FrameObject) throws(FrameError) {
        var fields = Fields()
        while let key = try frame.key() { try fields.take(key, from: &frame.reader) }
        self = try fields.join()
    }

    fileprivate init(_ reader: inout FrameReader) throws(FrameError) {
        var fields = Fields()
        var object = try reader.object("joins")
        while let key = try reader.key(of: &object) { try fields.take(key, from: &reader) }
        self = try fields.join()
    }
}

extension ClientFrame.History {
    fileprivate init(_ frame: inout FrameObject) throws(FrameError) {
        var (room, reference, before, limit): (RoomName?, Int64, Int64, Int64) = (nil, 0, 0, 0)
        while let key = try frame.key() {
            switch key {
            case "ref": reference = try frame.reader.number("ref")
            case "room": room = try frame.reader.room()
            case "before": before = try frame.reader.number("before")
            case "limit": limit = try frame.reader.number("limit")
            default: try frame.reader.skip()
            }
        }
        self.init(reference: reference, room: try room.needed("room"), before: before, limit: limit)
    }
}

extension FrameObject {
    /// Reads a frame that contains only a room.
    fileprivate mutating func room() throws(FrameError) -> RoomName {
        var room: RoomName?
        while let key = try key() { if key == "room" { room = try reader.room() } else { try reader.skip() } }
        return try room.needed("room")
    }

    fileprivate mutating func token() throws(FrameError) -> String {
        var token: String?
        while let key = try key() { if key == "token" { token = try reader.text("token") } else { try reader.skip() } }
        return try token.needed("token")
    }

    /// Reads a frame that contains only a number, which may be missing.
    mutating func number(_ field: StaticString) throws(FrameError) -> Int64 {
        let word = FrameWord(stringLiteral: field)
        var number: Int64 = 0
        while let key = try key() { if key == word { number = try reader.number(field) } else { try reader.skip() } }
        return number
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
    /// Returns a frame that contains only a room.
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
    /// The approximate size in a frame, in bytes.
    var roomOnWire: Int {
        switch self {
        case .json(let bytes): bytes.count
        case .binary(let bytes): bytes.count / 3 * 4 + 4
        }
    }
}
