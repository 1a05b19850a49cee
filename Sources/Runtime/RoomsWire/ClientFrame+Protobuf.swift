import RoomCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ClientFrame {
    func protobuf() -> [UInt8] {
        var wire = WireToHub()
        switch self {
        case .hello(let hello): wire.hello = WireHello(hello)
        case .auth(let token): wire.auth.token = token
        case .join(let join): wire.join = WireJoin(join)
        case .leave(let room): wire.leave.room = room.text
        case .publish(let room, let publication): wire.pub = WirePublish(room, publication)
        case .read(let room, let seq):
            var read = WireRead()
            (read.room, read.seq) = (room.text, seq)
            wire.read = read
        case .history(let history):
            var question = WireHistory()
            (question.ref, question.room) = (history.reference, history.room.text)
            (question.before, question.limit) = (history.before, history.limit)
            wire.hist = question
        case .presence(let room, let presence):
            var set = WireSetPresence()
            (set.room, set.status) = (room.text, presence.status)
            if let meta = presence.meta { set.meta = Data(meta) }
            wire.pres = set
        case .members(let room): wire.members.room = room.text
        case .typing(let room, let isOn):
            var typing = WireSetTyping()
            (typing.room, typing.on) = (room.text, isOn)
            wire.typ = typing
        case .signal(let room, let signal):
            var send = WireSendSignal()
            (send.room, send.type) = (room.text, signal.type)
            switch signal.payload {
            case .json(let bytes): send.body = Data(bytes)
            case .binary(let bytes): send.bin = Data(bytes)
            }
            wire.sig = send
        case .ping(let number): wire.ping.n = number
        }
        return wire.frameBytes()
    }

    static func decode(protobuf bytes: UnsafeRawBufferPointer) throws(FrameError) -> ClientFrame? {
        let wire: WireToHub = try readMessage(bytes, fields: ClientFrame.mostFields)
        switch wire.body {
        case .hello(let hello): return .hello(try Hello(hello))
        case .auth(let auth): return .auth(token: auth.token)
        case .join(let join): return .join(try Join(join))
        case .leave(let leave): return .leave(try leave.room.room())
        case .pub(let publish): return .publish(try publish.room.room(), try Publication(publish))
        case .read(let read): return .read(try read.room.room(), upTo: try read.seq.number("seq"))
        case .hist(let history):
            return .history(
                History(
                    reference: try history.ref.number("ref"), room: try history.room.room(), before: try history.before.number("before"),
                    limit: try history.limit.number("limit")))
        case .pres(let set):
            let meta = set.hasMeta ? try set.meta.json("meta", isStrict: true) : nil
            return .presence(try set.room.room(), Presence(status: set.hasStatus ? set.status : "online", meta: meta))
        case .members(let ask): return .members(try ask.room.room())
        case .typ(let typing): return .typing(try typing.room.room(), typing.on)
        case .sig(let send):
            let payload: Payload
            switch send.payload {
            case .body(let data): payload = .json(try data.json("body", isStrict: true))
            case .bin(let data): payload = .binary([UInt8](data))
            case nil: throw FrameError(.missing, field: "body")
            }
            return .signal(try send.room.room(), Signal(type: try send.type.type(upTo: .max), payload: payload))
        case .ping(let ping): return .ping(try ping.n.number("n"))
        case nil: return nil
        }
    }
}

extension ClientFrame {
    /// A hello has the most fields: one per join and per version.
    fileprivate static let mostFields = RoomsLimits.joins + RoomsLimits.versions + 64
}

extension PublicationEnvelope {
    /// Reads the envelope of a `pub` frame from Protocol Buffers; returns nil if it is none, or if its room is invalid.
    init?(protobuf bytes: UnsafeRawBufferPointer) {
        guard let wire: WireToHub = try? readMessage(bytes, fields: ClientFrame.mostFields), case .pub(let publish)? = wire.body,
            let room = RoomName(publish.room)
        else { return nil }
        self.init(room: room, cseq: publish.cseq)
    }
}

extension EphemeralEnvelope {
    /// Reads the envelope of a `pres`, `typ` or `sig` frame from Protocol Buffers; returns nil if it is none, or if its room is invalid.
    init?(protobuf bytes: UnsafeRawBufferPointer) {
        guard let wire: WireToHub = try? readMessage(bytes, fields: ClientFrame.mostFields) else { return nil }
        let name: String? =
            switch wire.body {
            case .pres(let set): set.room
            case .typ(let typing): typing.room
            case .sig(let send): send.room
            default: nil
            }
        guard let room = name.flatMap({ RoomName($0) }) else { return nil }
        self.init(room: room)
    }
}

extension WireHello {
    fileprivate init(_ hello: ClientFrame.Hello) {
        self.init()
        v = hello.versions
        (deviceHigh, deviceLow) = (hello.device.bits.high, hello.device.bits.low)
        if let token = hello.token { self.token = token }
        if let agent = hello.agent { self.agent = agent }
        joins = hello.joins.map { WireJoin($0) }
    }
}

extension ClientFrame.Hello {
    fileprivate init(_ wire: WireHello) throws(FrameError) {
        let device = bits(wire.hasDeviceHigh ? wire.deviceHigh : nil, wire.hasDeviceLow ? wire.deviceLow : nil)
        guard wire.joins.count <= RoomsLimits.joins else { throw FrameError(.tooLong, field: "joins") }
        var joins: [ClientFrame.Join] = []
        joins.reserveCapacity(wire.joins.count)
        for join in wire.joins { joins.append(try ClientFrame.Join(join)) }
        self.init(
            versions: try wire.v.numbers("v"), device: DeviceID(try device.needed("device")), token: wire.hasToken ? wire.token : nil,
            agent: wire.hasAgent ? try wire.agent.text("agent", upTo: RoomsLimits.nameLength) : nil, joins: joins)
    }
}

extension WireJoin {
    fileprivate init(_ join: ClientFrame.Join) {
        self.init()
        (room, epoch, seq) = (join.room.text, join.cursor.epoch, join.cursor.seq)
        (limit, presence, next) = (join.limit, join.wantsPresence, join.next)
        if let proof = join.proof { (proofHigh, proofLow) = (proof.bits.high, proof.bits.low) }
    }
}

extension ClientFrame.Join {
    fileprivate init(_ wire: WireJoin) throws(FrameError) {
        let proof = CursorProof(high: wire.hasProofHigh ? wire.proofHigh : nil, low: wire.hasProofLow ? wire.proofLow : nil)
        let seq = try wire.seq.number("seq", from: wire.epoch == 0 ? -RoomsLimits.number : 0)
        self.init(
            room: try wire.room.room(), cursor: LogPosition(epoch: wire.epoch, seq: seq), limit: try wire.limit.number("limit"),
            wantsPresence: wire.presence, next: max(try wire.next.number("next"), 1), proof: proof)
    }
}

extension WirePublish {
    fileprivate init(_ room: RoomName, _ publication: Publication) {
        self.init()
        (self.room, cseq, at) = (room.text, publication.cseq, publication.sent)
        (idHigh, idLow) = (publication.id.bits.high, publication.id.bits.low)
        guard let content = publication.content else {
            void = true
            return
        }
        type = content.type
        if let about = content.about { self.about = WireReference(about) }
        switch content.payload {
        case .json(let bytes): body = Data(bytes)
        case .binary(let bytes): bin = Data(bytes)
        }
    }
}

extension Publication {
    fileprivate init(_ wire: WirePublish) throws(FrameError) {
        let id = try bits(wire.hasIDHigh ? wire.idHigh : nil, wire.hasIDLow ? wire.idLow : nil).needed("id")
        self.init(
            cseq: try wire.cseq.number("cseq", from: 1), id: MessageID(id), sent: try wire.at.number("at"),
            content: wire.void ? nil : try Content(wire))
    }
}

extension Publication.Content {
    fileprivate init(_ wire: WirePublish) throws(FrameError) {
        let payload: Payload
        switch wire.payload {
        case .body(let data): payload = .json(try data.json("body", isStrict: true))
        case .bin(let data): payload = .binary([UInt8](data))
        case nil: throw FrameError(.missing, field: "body")
        }
        self.init(
            type: try wire.type.type(upTo: .max), about: wire.hasAbout ? try Reference(wire.about, kindUpTo: .max) : nil, payload: payload)
    }
}
