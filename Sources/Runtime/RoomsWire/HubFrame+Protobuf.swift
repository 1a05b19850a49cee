import RoomCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HubFrame {
    func protobuf() -> [UInt8] {
        var wire = WireToClient()
        switch self {
        case .welcome(let welcome): wire.welcome = WireWelcome(welcome)
        case .renewed(let expires): wire.renewed.expires = expires
        case .state(let state): wire.state = WireState(state)
        case .entries(let room, let epoch, let entries, let proof):
            var message = WireEntries()
            (message.room, message.epoch, message.items) = (room.text, epoch, entries.map { WireEntry($0) })
            if let proof { (message.proofHigh, message.proofLow) = (proof.bits.high, proof.bits.low) }
            wire.msg = message
        case .acks(let room, let epoch, let acks):
            var message = WireAcks()
            (message.room, message.epoch, message.acks) = (room.text, epoch, acks.map { WireAck($0) })
            wire.ack = message
        case .hole(let room, let expected):
            var hole = WireHole()
            (hole.room, hole.expected) = (room.text, expected)
            wire.hole = hole
        case .lag(let room, let head):
            var lag = WireLag()
            (lag.room, lag.head) = (room.text, head)
            wire.lag = lag
        case .page(let page):
            var message = WirePage()
            (message.ref, message.room, message.epoch) = (page.reference, page.room.text, page.epoch)
            (message.items, message.base) = (page.items.map { WireEntry($0) }, page.base)
            wire.page = message
        case .read(let room, let user, let seq):
            var read = WireHasRead()
            (read.room, read.user, read.seq) = (room.text, user.text, seq)
            wire.read = read
        case .members(let members): wire.members = WireMembers(members)
        case .typing(let room, let user, let isOn):
            var typing = WireTyping()
            (typing.room, typing.user, typing.on) = (room.text, user.text, isOn)
            wire.typ = typing
        case .signal(let room, let user, let connection, let signal):
            var message = WireSignal()
            (message.room, message.user, message.conn, message.type) = (room.text, user.text, connection, signal.type)
            switch signal.payload {
            case .json(let bytes): message.body = Data(bytes)
            case .binary(let bytes): message.bin = Data(bytes)
            }
            wire.sig = message
        case .refusal(let refusal): wire.error = WireRefusal(refusal)
        case .pong(let number, let now):
            var pong = WirePong()
            (pong.n, pong.now) = (number, now)
            wire.pong = pong
        case .goaway(let goaway):
            var message = WireGoaway()
            (message.after, message.drain) = (goaway.after, goaway.drain)
            wire.goaway = message
        }
        return wire.frameBytes()
    }

    static func decode(protobuf bytes: UnsafeRawBufferPointer) throws(FrameError) -> HubFrame? {
        let wire: WireToClient = try readMessage(bytes, fields: .max)
        switch wire.body {
        case .welcome(let welcome): return .welcome(try Welcome(welcome))
        case .renewed(let renewed): return .renewed(expires: try renewed.expires.number("expires"))
        case .state(let state): return .state(try RoomState(state))
        case .msg(let message):
            let proof = CursorProof(high: message.hasProofHigh ? message.proofHigh : nil, low: message.hasProofLow ? message.proofLow : nil)
            return .entries(try message.room.room(), epoch: try message.epoch.epoch(), try entries(message.items), proof: proof)
        case .ack(let message):
            var acks: [Ack] = []
            acks.reserveCapacity(message.acks.count)
            for ack in message.acks { acks.append(try Ack(ack)) }
            return .acks(try message.room.room(), epoch: try message.epoch.epoch(), acks)
        case .hole(let hole): return .hole(try hole.room.room(), expected: try hole.expected.number("expected", from: 1))
        case .lag(let lag): return .lag(try lag.room.room(), head: try lag.head.number("head"))
        case .page(let page):
            return .page(
                Page(
                    reference: try page.ref.number("ref"), room: try page.room.room(), epoch: try page.epoch.epoch(),
                    items: try entries(page.items), base: try page.base.number("base")))
        case .read(let read): return .read(try read.room.room(), try read.user.user(), upTo: try read.seq.number("seq"))
        case .members(let members): return .members(try RoomMembers(members))
        case .typ(let typing): return .typing(try typing.room.room(), try typing.user.user(), typing.on)
        case .sig(let signal): return try self.signal(signal)
        case .error(let refusal): return .refusal(try Refusal(refusal))
        case .pong(let pong): return .pong(try pong.n.number("n"), now: try pong.now.number("now"))
        case .goaway(let goaway):
            return .goaway(Goaway(after: try goaway.after.number("after"), drain: try goaway.drain.number("drain")))
        case nil: return nil
        }
    }

    fileprivate static func entries(_ items: [WireEntry]) throws(FrameError) -> [Entry] {
        var entries: [Entry] = []
        entries.reserveCapacity(items.count)
        for item in items { entries.append(try Entry(item)) }
        return entries
    }

    private static func signal(_ wire: WireSignal) throws(FrameError) -> HubFrame {
        let payload: Payload
        switch wire.payload {
        case .body(let data): payload = .json(try data.json("body"))
        case .bin(let data): payload = .binary([UInt8](data))
        case nil: throw FrameError(.missing, field: "body")
        }
        let signal = Signal(type: try wire.type.type(upTo: RoomsLimits.typeLength), payload: payload)
        let connection = try wire.conn.text("conn", upTo: RoomsLimits.nameLength)
        return .signal(try wire.room.room(), from: try wire.user.user(), connection: connection, signal)
    }
}

extension WireWelcome {
    fileprivate init(_ welcome: HubFrame.Welcome) {
        self.init()
        (v, conn, user) = (welcome.version, welcome.connection, welcome.user.text)
        (now, expires, window) = (welcome.now, welcome.expires, welcome.window)
        var limits = WireLimits()
        (limits.frame, limits.body) = (welcome.limits.frame, welcome.limits.body)
        (limits.roomWindow, limits.window) = (welcome.limits.roomWindow, welcome.limits.window)
        (limits.rooms, limits.page, limits.members) = (welcome.limits.rooms, welcome.limits.page, welcome.limits.members)
        self.limits = limits
    }
}

extension HubFrame.Welcome {
    fileprivate init(_ wire: WireWelcome) throws(FrameError) {
        var limits = RoomsLimits()
        if wire.limits.hasFrame { limits.frame = try wire.limits.frame.number("frame") }
        if wire.limits.hasBody { limits.body = try wire.limits.body.number("body") }
        if wire.limits.hasRoomWindow { limits.roomWindow = try wire.limits.roomWindow.number("roomWindow") }
        if wire.limits.hasWindow { limits.window = try wire.limits.window.number("window") }
        if wire.limits.hasRooms { limits.rooms = try wire.limits.rooms.number("rooms") }
        if wire.limits.hasPage { limits.page = try wire.limits.page.number("page") }
        if wire.limits.hasMembers { limits.members = try wire.limits.members.number("members") }
        self.init(
            version: try wire.v.number("v"), connection: try wire.conn.text("conn", upTo: RoomsLimits.nameLength),
            user: try wire.user.user(), now: try wire.now.number("now"), expires: try wire.expires.number("expires"),
            window: try wire.window.number("window"), limits: limits)
    }
}

extension WireState {
    fileprivate init(_ state: HubFrame.RoomState) {
        self.init()
        (room, epoch, from, to) = (state.room.text, state.epoch, state.from, state.to)
        (head, base, items) = (state.head, state.base, state.items.map { WireEntry($0) })
        (snapshot, more, high) = (state.isSnapshot, state.hasMore, state.high)
        if let id = state.highID { (highIDHigh, highIDLow) = (id.bits.high, id.bits.low) }
        if let proof = state.proof { (proofHigh, proofLow) = (proof.bits.high, proof.bits.low) }
        rights = UInt32(state.rights.rawValue)
        reads = state.reads.map { marker in
            var wire = WireMarker()
            (wire.user, wire.seq) = (marker.user.text, marker.seq)
            return wire
        }
    }
}

extension HubFrame.RoomState {
    fileprivate init(_ wire: WireState) throws(FrameError) {
        var reads: [HubFrame.ReadMarker] = []
        reads.reserveCapacity(wire.reads.count)
        for marker in wire.reads { reads.append(HubFrame.ReadMarker(user: try marker.user.user(), seq: try marker.seq.number("seq"))) }
        let highID = bits(wire.hasHighIDHigh ? wire.highIDHigh : nil, wire.hasHighIDLow ? wire.highIDLow : nil)
        let proof = CursorProof(high: wire.hasProofHigh ? wire.proofHigh : nil, low: wire.hasProofLow ? wire.proofLow : nil)
        // Bits of later versions are ignored.
        let rights = RoomRights(rawValue: UInt8(truncatingIfNeeded: wire.rights)).intersection([.member, .admin])
        self.init(
            room: try wire.room.room(), epoch: try wire.epoch.epoch(), from: try wire.from.number("from"), to: try wire.to.number("to"),
            head: try wire.head.number("head"), base: try wire.base.number("base"), items: try HubFrame.entries(wire.items),
            isSnapshot: wire.snapshot, hasMore: wire.more, high: try wire.high.number("high"),
            highID: highID.map { MessageID($0) }, rights: rights, reads: reads, proof: proof)
    }
}

extension WireAck {
    fileprivate init(_ ack: HubFrame.Ack) {
        self.init()
        (cseq, seq, at, dup) = (ack.cseq, ack.seq, ack.at, ack.isDuplicate)
        if let id = ack.id { (idHigh, idLow) = (id.bits.high, id.bits.low) }
    }
}

extension HubFrame.Ack {
    fileprivate init(_ wire: WireAck) throws(FrameError) {
        let id = bits(wire.hasIDHigh ? wire.idHigh : nil, wire.hasIDLow ? wire.idLow : nil)
        self.init(
            cseq: try wire.cseq.number("cseq", from: 1), seq: try wire.seq.number("seq"), at: try wire.at.number("at"),
            id: id.map { MessageID($0) }, isDuplicate: wire.dup)
    }
}

extension WireMembers {
    fileprivate init(_ segment: HubFrame.RoomMembers) {
        self.init()
        (room, node, incarnation) = (segment.room.text, segment.node, segment.incarnation)
        (version, full, total, gone) = (segment.version, segment.isFull, segment.total, segment.gone)
        members = segment.members.map { member in
            var wire = WireMember()
            (wire.conn, wire.user, wire.status) = (member.connection, member.user.text, member.presence.status)
            if let meta = member.presence.meta { wire.meta = Data(meta) }
            return wire
        }
    }
}

extension HubFrame.RoomMembers {
    fileprivate init(_ wire: WireMembers) throws(FrameError) {
        var members: [PresentMember] = []
        members.reserveCapacity(wire.members.count)
        for member in wire.members { members.append(try PresentMember(member)) }
        for connection in wire.gone { _ = try connection.text("gone", upTo: RoomsLimits.nameLength) }
        self.init(
            room: try wire.room.room(), node: try wire.node.text("node", upTo: RoomsLimits.nameLength), incarnation: wire.incarnation,
            version: try wire.version.number("version"), isFull: wire.full, total: try wire.total.number("total"), members: members,
            gone: wire.gone)
    }
}

extension PresentMember {
    fileprivate init(_ wire: WireMember) throws(FrameError) {
        let status = wire.hasStatus ? try wire.status.text("status", upTo: RoomsLimits.typeLength) : "online"
        self.init(
            connection: try wire.conn.text("conn", upTo: RoomsLimits.nameLength), user: try wire.user.user(),
            presence: Presence(status: status, meta: wire.hasMeta ? try wire.meta.json("meta") : nil))
    }
}

extension WireRefusal {
    fileprivate init(_ refusal: Refusal) {
        self.init()
        (code, versions, text) = (refusal.code.rawValue, refusal.versions, refusal.text)
        switch refusal.retry {
        case .never: retry = .never
        case .now: retry = .now
        case .after(let milliseconds): (retry, after) = (.after, milliseconds)
        case .reconnect: retry = .reconnect
        }
        if let room = refusal.room { self.room = room.text }
        if let cseq = refusal.cseq { self.cseq = cseq }
        if let reference = refusal.reference { ref = reference }
    }
}

extension Refusal {
    fileprivate init(_ wire: WireRefusal) throws(FrameError) {
        let retry: Retry
        switch wire.retry {
        case .never: retry = .never
        case .now: retry = .now
        case .after: retry = .after(try wire.after.number("after"))
        case .reconnect: retry = .reconnect
        case .UNRECOGNIZED: throw FrameError(.invalidValue, field: "retry")
        }
        self.init(
            Code(rawValue: try wire.code.number("code")), retry: retry, room: wire.hasRoom ? try wire.room.room() : nil,
            cseq: wire.hasCseq ? try wire.cseq.number("cseq") : nil, reference: wire.hasRef ? try wire.ref.number("ref") : nil,
            versions: try wire.versions.numbers("versions"), try wire.text.text("text", upTo: RoomsLimits.refusalLength))
    }
}

extension WireEntry {
    fileprivate init(_ entry: Entry) {
        self.init()
        (seq, cseq, user, at, sent) = (entry.seq, entry.cseq, entry.user.text, entry.at, entry.sent)
        (idHigh, idLow) = (entry.id.bits.high, entry.id.bits.low)
        (deviceHigh, deviceLow) = (entry.device.bits.high, entry.device.bits.low)
        (type, admin) = (entry.type, entry.isAdmin)
        if let about = entry.about { self.about = WireReference(about) }
        switch entry.payload {
        case .json(let bytes): body = Data(bytes)
        case .binary(let bytes): bin = Data(bytes)
        }
    }
}

extension Entry {
    fileprivate init(_ wire: WireEntry) throws(FrameError) {
        let id = try bits(wire.hasIDHigh ? wire.idHigh : nil, wire.hasIDLow ? wire.idLow : nil).needed("id")
        let device = try bits(wire.hasDeviceHigh ? wire.deviceHigh : nil, wire.hasDeviceLow ? wire.deviceLow : nil).needed("device")
        let payload: Payload
        switch wire.payload {
        case .body(let data): payload = .json(try data.json("body"))
        case .bin(let data): payload = .binary([UInt8](data))
        case nil: throw FrameError(.missing, field: "body")
        }
        self.init(
            seq: try wire.seq.number("seq", from: 1), id: MessageID(id), device: DeviceID(device),
            cseq: try wire.cseq.number("cseq", from: 1), user: try wire.user.user(), at: try wire.at.number("at"),
            sent: try wire.sent.number("sent"), type: try wire.type.type(upTo: RoomsLimits.typeLength),
            about: wire.hasAbout ? try Reference(wire.about, kindUpTo: RoomsLimits.typeLength) : nil, payload: payload,
            isAdmin: wire.admin)
    }
}
