extension HubFrame {
    /// Reads a frame from JSON.
    ///
    /// - Returns: Nil for an unknown type, which must be ignored.
    /// - Throws: A `FrameError` if the bytes are not a valid frame.
    package static func decode(json bytes: UnsafeRawBufferPointer) throws(FrameError) -> HubFrame? {
        unsafe try readFrame(bytes) { frame throws(FrameError) in
            switch frame.type {
            case "msg": try entries(&frame)
            case "ack": try acks(&frame)
            case "state": .state(try RoomState(&frame))
            case "read": try read(&frame)
            case "members": .members(try RoomMembers(&frame))
            case "typ": try typing(&frame)
            case "sig": try signal(&frame)
            case "pong": try pong(&frame)
            case "error": .refusal(try Refusal(&frame))
            case "welcome": .welcome(try Welcome(&frame))
            case "renewed": .renewed(expires: try frame.number("expires"))
            case "hole": try hole(&frame)
            case "lag": try lag(&frame)
            case "page": .page(try Page(&frame))
            case "goaway": try goaway(&frame)
            default: try unknown(&frame)
            }
        }
    }

    private static func unknown(_ frame: inout FrameObject) throws(FrameError) -> HubFrame? {
        try frame.skip()
        return nil
    }

    private static func entries(_ frame: inout FrameObject) throws(FrameError) -> HubFrame {
        var (room, epoch, items, proof): (RoomName?, UInt64?, [Entry], CursorProof?) = (nil, nil, [], nil)
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "epoch": epoch = try frame.reader.log()
            case "items": items = try frame.reader.entries()
            case "proof": proof = try frame.reader.proof()
            default: try frame.reader.skip()
            }
        }
        return .entries(try room.needed("room"), epoch: try epoch.needed("epoch"), items, proof: proof)
    }

    private static func acks(_ frame: inout FrameObject) throws(FrameError) -> HubFrame {
        var (room, epoch, acks): (RoomName?, UInt64?, [Ack]) = (nil, nil, [])
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "epoch": epoch = try frame.reader.log()
            case "acks": acks = try frame.reader.list("acks", Ack.init)
            default: try frame.reader.skip()
            }
        }
        return .acks(try room.needed("room"), epoch: try epoch.needed("epoch"), acks)
    }

    private static func read(_ frame: inout FrameObject) throws(FrameError) -> HubFrame {
        var (room, user, seq): (RoomName?, UserName?, Int64) = (nil, nil, 0)
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "user": user = try frame.reader.user()
            case "seq": seq = try frame.reader.number("seq")
            default: try frame.reader.skip()
            }
        }
        return .read(try room.needed("room"), try user.needed("user"), upTo: seq)
    }

    private static func typing(_ frame: inout FrameObject) throws(FrameError) -> HubFrame {
        var (room, user, isOn): (RoomName?, UserName?, Bool) = (nil, nil, false)
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "user": user = try frame.reader.user()
            case "on": isOn = try frame.reader.flag("on")
            default: try frame.reader.skip()
            }
        }
        return .typing(try room.needed("room"), try user.needed("user"), isOn)
    }

    private static func signal(_ frame: inout FrameObject) throws(FrameError) -> HubFrame {
        var (room, user, connection): (RoomName?, UserName?, String?) = (nil, nil, nil)
        var (type, payload): (String?, Payload?) = (nil, nil)
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "user": user = try frame.reader.user()
            case "conn": connection = try frame.reader.text("conn", upTo: RoomsLimits.nameLength)
            case "type": type = try frame.reader.type(upTo: RoomsLimits.typeLength)
            case "body": payload = try frame.reader.json()
            case "bin": payload = try frame.reader.binary()
            default: try frame.reader.skip()
            }
        }
        let signal = Signal(type: try type.needed("type"), payload: try payload.needed("body"))
        return .signal(try room.needed("room"), from: try user.needed("user"), connection: try connection.needed("conn"), signal)
    }

    private static func pong(_ frame: inout FrameObject) throws(FrameError) -> HubFrame {
        var (number, now): (Int64, Int64) = (0, 0)
        while let key = try frame.key() {
            switch key {
            case "n": number = try frame.reader.number("n")
            case "now": now = try frame.reader.number("now")
            default: try frame.reader.skip()
            }
        }
        return .pong(number, now: now)
    }

    private static func hole(_ frame: inout FrameObject) throws(FrameError) -> HubFrame {
        var (room, expected): (RoomName?, Int64?) = (nil, nil)
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "expected": expected = try frame.reader.number("expected", from: 1)
            default: try frame.reader.skip()
            }
        }
        return .hole(try room.needed("room"), expected: try expected.needed("expected"))
    }

    private static func lag(_ frame: inout FrameObject) throws(FrameError) -> HubFrame {
        var (room, head): (RoomName?, Int64) = (nil, 0)
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "head": head = try frame.reader.number("head")
            default: try frame.reader.skip()
            }
        }
        return .lag(try room.needed("room"), head: head)
    }

    private static func goaway(_ frame: inout FrameObject) throws(FrameError) -> HubFrame {
        var goaway = Goaway(after: 0, drain: 0)
        while let key = try frame.key() {
            switch key {
            case "after": goaway.after = try frame.reader.number("after")
            case "drain": goaway.drain = try frame.reader.number("drain")
            default: try frame.reader.skip()
            }
        }
        return .goaway(goaway)
    }
}

extension HubFrame.Welcome {
    fileprivate init(_ frame: inout FrameObject) throws(FrameError) {
        var (version, connection, user): (Int64?, String?, UserName?) = (nil, nil, nil)
        var (now, expires, window, limits): (Int64, Int64, Int64, RoomsLimits) = (0, 0, 0, RoomsLimits())
        while let key = try frame.key() {
            switch key {
            case "v": version = try frame.reader.number("v")
            case "conn": connection = try frame.reader.text("conn", upTo: RoomsLimits.nameLength)
            case "user": user = try frame.reader.user()
            case "now": now = try frame.reader.number("now")
            case "expires": expires = try frame.reader.number("expires")
            case "window": window = try frame.reader.number("window")
            case "limits": limits = try RoomsLimits(&frame.reader)
            default: try frame.reader.skip()
            }
        }
        self.init(
            version: try version.needed("v"), connection: try connection.needed("conn"), user: try user.needed("user"), now: now,
            expires: expires, window: window, limits: limits)
    }
}

extension RoomsLimits {
    fileprivate init(_ reader: inout FrameReader) throws(FrameError) {
        self.init()
        var object = try reader.object("limits")
        while let key = try reader.key(of: &object) {
            switch key {
            case "frame": frame = try reader.number("frame")
            case "body": body = try reader.number("body")
            case "roomWindow": roomWindow = try reader.number("roomWindow")
            case "window": window = try reader.number("window")
            case "rooms": rooms = try reader.number("rooms")
            case "page": page = try reader.number("page")
            case "members": members = try reader.number("members")
            default: try reader.skip()
            }
        }
    }
}

extension HubFrame.RoomState {
    fileprivate init(_ frame: inout FrameObject) throws(FrameError) {
        var (room, epoch): (RoomName?, UInt64?) = (nil, nil)
        var (from, to, head, base, high): (Int64, Int64, Int64, Int64, Int64) = (0, 0, 0, 0, 0)
        var (items, isSnapshot, hasMore): ([Entry], Bool, Bool) = ([], false, false)
        var (highID, rights, reads): (MessageID?, RoomRights, [HubFrame.ReadMarker]) = (nil, [], [])
        var proof: CursorProof?
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "epoch": epoch = try frame.reader.log()
            case "from": from = try frame.reader.number("from")
            case "to": to = try frame.reader.number("to")
            case "head": head = try frame.reader.number("head")
            case "base": base = try frame.reader.number("base")
            case "items": items = try frame.reader.entries()
            case "snapshot": isSnapshot = try frame.reader.flag("snapshot")
            case "more": hasMore = try frame.reader.flag("more")
            case "high": high = try frame.reader.number("high")
            case "highId": highID = try frame.reader.messageID("highId")
            case "rights": rights = RoomRights(letters: try frame.reader.text("rights"))
            case "reads": reads = try frame.reader.list("reads", HubFrame.ReadMarker.init)
            case "proof": proof = try frame.reader.proof()
            default: try frame.reader.skip()
            }
        }
        self.init(
            room: try room.needed("room"), epoch: try epoch.needed("epoch"), from: from, to: to, head: head, base: base, items: items,
            isSnapshot: isSnapshot, hasMore: hasMore, high: high, highID: highID, rights: rights, reads: reads,
            proof: proof)
    }
}

extension HubFrame.ReadMarker {
    fileprivate init(_ reader: inout FrameReader) throws(FrameError) {
        var (user, seq): (UserName?, Int64) = (nil, 0)
        var object = try reader.object("reads")
        while let key = try reader.key(of: &object) {
            switch key {
            case "user": user = try reader.user()
            case "seq": seq = try reader.number("seq")
            default: try reader.skip()
            }
        }
        self.init(user: try user.needed("user"), seq: seq)
    }
}

extension HubFrame.Ack {
    fileprivate init(_ reader: inout FrameReader) throws(FrameError) {
        var (cseq, seq, at): (Int64?, Int64, Int64) = (nil, 0, 0)
        var (id, isDuplicate): (MessageID?, Bool) = (nil, false)
        var object = try reader.object("acks")
        while let key = try reader.key(of: &object) {
            switch key {
            case "cseq": cseq = try reader.number("cseq", from: 1)
            case "seq": seq = try reader.number("seq")
            case "at": at = try reader.number("at")
            case "id": id = try reader.messageID()
            case "dup": isDuplicate = try reader.flag("dup")
            default: try reader.skip()
            }
        }
        self.init(cseq: try cseq.needed("cseq"), seq: seq, at: at, id: id, isDuplicate: isDuplicate)
    }
}

extension HubFrame.Page {
    fileprivate init(_ frame: inout FrameObject) throws(FrameError) {
        var (room, epoch, items): (RoomName?, UInt64?, [Entry]) = (nil, nil, [])
        var (reference, base): (Int64, Int64) = (0, 0)
        while let key = try frame.key() {
            switch key {
            case "ref": reference = try frame.reader.number("ref")
            case "room": room = try frame.reader.room()
            case "epoch": epoch = try frame.reader.log()
            case "items": items = try frame.reader.entries()
            case "base": base = try frame.reader.number("base")
            default: try frame.reader.skip()
            }
        }
        self.init(reference: reference, room: try room.needed("room"), epoch: try epoch.needed("epoch"), items: items, base: base)
    }
}

extension HubFrame.RoomMembers {
    fileprivate init(_ frame: inout FrameObject) throws(FrameError) {
        var (room, node, incarnation): (RoomName?, String?, UInt64) = (nil, nil, 0)
        var (version, isFull, total): (Int64, Bool, Int64) = (0, false, 0)
        var (members, gone): ([PresentMember], [String]) = ([], [])
        while let key = try frame.key() {
            switch key {
            case "room": room = try frame.reader.room()
            case "node": node = try frame.reader.text("node", upTo: RoomsLimits.nameLength)
            case "incarnation": incarnation = try frame.reader.epoch("incarnation")
            case "version": version = try frame.reader.number("version")
            case "full": isFull = try frame.reader.flag("full")
            case "total": total = try frame.reader.number("total")
            case "members": members = try frame.reader.list("members", PresentMember.init)
            case "gone":
                gone = try frame.reader.list("gone") { reader throws(FrameError) in
                    try reader.text("gone", upTo: RoomsLimits.nameLength)
                }
            default: try frame.reader.skip()
            }
        }
        self.init(
            room: try room.needed("room"), node: try node.needed("node"), incarnation: incarnation, version: version, isFull: isFull,
            total: total, members: members, gone: gone)
    }
}

extension PresentMember {
    fileprivate init(_ reader: inout FrameReader) throws(FrameError) {
        var (connection, user, presence): (String?, UserName?, Presence) = (nil, nil, Presence())
        var object = try reader.object("members")
        while let key = try reader.key(of: &object) {
            switch key {
            case "conn": connection = try reader.text("conn", upTo: RoomsLimits.nameLength)
            case "user": user = try reader.user()
            case "status": presence.status = try reader.text("status", upTo: RoomsLimits.typeLength)
            case "meta": presence.meta = try reader.raw()
            default: try reader.skip()
            }
        }
        self.init(connection: try connection.needed("conn"), user: try user.needed("user"), presence: presence)
    }
}

extension Refusal {
    fileprivate init(_ frame: inout FrameObject) throws(FrameError) {
        var (code, word, after): (Int64?, FrameWord?, Int64) = (nil, nil, 0)
        var refusal = Refusal(.malformed, "")
        while let key = try frame.key() {
            switch key {
            case "code": code = try frame.reader.number("code")
            case "retry": word = try frame.reader.word("retry")
            case "after": after = try frame.reader.number("after")
            case "room": refusal.room = try frame.reader.room()
            case "cseq": refusal.cseq = try frame.reader.number("cseq")
            case "ref": refusal.reference = try frame.reader.number("ref")
            case "versions": refusal.versions = try frame.reader.numbers("versions", upTo: RoomsLimits.versions)
            case "text": refusal.text = try frame.reader.text("text", upTo: RoomsLimits.refusalLength)
            default: try frame.reader.skip()
            }
        }
        refusal.code = Code(rawValue: try code.needed("code"))
        switch try word.needed("retry") {
        case "never": refusal.retry = .never
        case "now": refusal.retry = .now
        case "after": refusal.retry = .after(after)
        case "reconnect": refusal.retry = .reconnect
        default: throw FrameError(.invalidValue, field: "retry", at: 0)
        }
        self = refusal
    }
}

extension Entry {
    fileprivate init(_ reader: inout FrameReader) throws(FrameError) {
        var (seq, id, device, cseq): (Int64?, MessageID?, DeviceID?, Int64?) = (nil, nil, nil, nil)
        var (user, at, sent, type): (UserName?, Int64, Int64, String?) = (nil, 0, 0, nil)
        var (about, payload, isAdmin): (Reference?, Payload?, Bool) = (nil, nil, false)
        var object = try reader.object("items")
        while let key = try reader.key(of: &object) {
            switch key {
            case "seq": seq = try reader.number("seq", from: 1)
            case "id": id = try reader.messageID()
            case "device": device = try reader.device()
            case "cseq": cseq = try reader.number("cseq", from: 1)
            case "user": user = try reader.user()
            case "at": at = try reader.number("at")
            case "sent": sent = try reader.number("sent")
            case "type": type = try reader.type(upTo: RoomsLimits.typeLength)
            case "about": about = try reader.reference(kindUpTo: RoomsLimits.typeLength)
            case "body": payload = try reader.json()
            case "bin": payload = try reader.binary()
            case "admin": isAdmin = try reader.flag("admin")
            default: try reader.skip()
            }
        }
        self.init(
            seq: try seq.needed("seq"), id: try id.needed("id"), device: try device.needed("device"), cseq: try cseq.needed("cseq"),
            user: try user.needed("user"), at: at, sent: sent, type: try type.needed("type"), about: about,
            payload: try payload.needed("body"), isAdmin: isAdmin)
    }
}

extension FrameReader {
    fileprivate mutating func entries() throws(FrameError) -> [Entry] { try list("items", Entry.init) }

    /// Reads the epoch of a log, which is never 0.
    fileprivate mutating func log() throws(FrameError) -> UInt64 {
        let place = position
        let epoch = try epoch()
        guard epoch != 0 else { throw FrameError(.invalidValue, field: "epoch", at: place) }
        return epoch
    }
}
