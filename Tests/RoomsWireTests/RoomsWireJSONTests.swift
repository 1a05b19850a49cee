import RoomCore
import RoomsWire
import Testing

private let room = RoomName("abc")!
private let id = MessageID("01937a3e-7c1b-7000-8000-000000000001")!
private let device = DeviceID("0123456789abcdef0123456789abcdef")!

private func pub(_ fields: String) -> String {
    #"{"t":"pub","room":"abc","cseq":8,"id":"01937a3e-7c1b-7000-8000-000000000001","type":"chat.text",\#(fields)}"#
}

private func payload(_ fields: String) throws -> Payload? {
    guard case .publish(_, let publication) = try client(pub(fields)) else { return nil }
    return publication.content?.payload
}

private let proof = CursorProof("00000000000000010000000000000002")

@Suite struct RoomsWireJSONTests {
    @Test func `a proof of another form is ignored, and the frame with it is read`() throws {
        #expect(try client(#"{"t":"join","room":"abc","proof":"other"}"#) == .join(ClientFrame.Join(room: room)))
        #expect(try hub(#"{"t":"msg","room":"abc","epoch":"0000000000000001","proof":""}"#) == .entries(room, epoch: 1, []))
    }

    @Test func `a client's frame is written without default values`() {
        let frames: [(ClientFrame, String)] = [
            (
                .hello(ClientFrame.Hello(versions: [1, 2], device: device, token: "x", joins: [ClientFrame.Join(room: room)])),
                #"{"t":"hello","v":[1,2],"device":"0123456789abcdef0123456789abcdef","token":"x","joins":[{"room":"abc","next":1}]}"#
            ),
            (.auth(token: "x"), #"{"t":"auth","token":"x"}"#),
            (
                .join(
                    ClientFrame.Join(room: room, cursor: LogPosition(epoch: 255, seq: 41), limit: 1000, wantsPresence: true, next: 8)),
                #"{"t":"join","room":"abc","epoch":"00000000000000ff","seq":41,"limit":1000,"presence":true,"next":8}"#
            ),
            (
                .join(ClientFrame.Join(room: room, cursor: LogPosition(epoch: 255, seq: 41), proof: proof)),
                #"{"t":"join","room":"abc","epoch":"00000000000000ff","seq":41,"next":1,"proof":"00000000000000010000000000000002"}"#
            ),
            (
                .join(ClientFrame.Join(room: room, cursor: LogPosition(epoch: 0, seq: -20))),
                #"{"t":"join","room":"abc","seq":-20,"next":1}"#
            ),
            (.leave(room), #"{"t":"leave","room":"abc"}"#),
            (
                .publish(
                    room,
                    Publication(
                        cseq: 8, id: id, sent: 5,
                        content: Publication.Content(
                            type: "chat.text", about: Reference(kind: "edit", seq: 3), payload: .json(Array("{ }".utf8))))),
                #"{"t":"pub","room":"abc","cseq":8,"id":"01937a3e-7c1b-7000-8000-000000000001","at":5,"type":"chat.text","#
                    + #""about":{"kind":"edit","seq":3},"body":{ }}"#
            ),
            (
                .publish(room, Publication(cseq: 8, id: id, sent: 0, content: nil)),
                #"{"t":"pub","room":"abc","cseq":8,"id":"01937a3e-7c1b-7000-8000-000000000001","void":true}"#
            ),
            (.read(room, upTo: 58), #"{"t":"read","room":"abc","seq":58}"#),
            (
                .history(ClientFrame.History(reference: 7, room: room, before: 17, limit: 50)),
                #"{"t":"hist","ref":7,"room":"abc","before":17,"limit":50}"#
            ),
            (
                .presence(room, Presence(status: "away", meta: Array("[]".utf8))),
                #"{"t":"pres","room":"abc","status":"away","meta":[]}"#
            ),
            (.members(room), #"{"t":"members","room":"abc"}"#), (.typing(room, true), #"{"t":"typ","room":"abc","on":true}"#),
            (.typing(room, false), #"{"t":"typ","room":"abc"}"#),
            (
                .signal(room, Signal(type: "cursor", payload: .binary([1, 2, 3, 4]))),
                #"{"t":"sig","room":"abc","type":"cursor","bin":"AQIDBA=="}"#
            ),
            (.ping(1), #"{"t":"ping","n":1}"#), (.ping(0), #"{"t":"ping"}"#),
        ]
        for (frame, json) in frames { #expect(String(decoding: frame.json(), as: UTF8.self) == json) }
    }

    @Test func `a hub's frame is written without default values`() {
        let entry = Entry(
            seq: 58, id: id, device: device, cseq: 8, user: UserName("ann")!, at: 6, sent: 5, type: "chat.text",
            payload: .json(Array("1".utf8)))
        let entryJSON =
            #"{"seq":58,"id":"01937a3e-7c1b-7000-8000-000000000001","device":"0123456789abcdef0123456789abcdef","cseq":8,"user":"ann","#
            + #""at":6,"sent":5,"type":"chat.text","body":1}"#
        let user = UserName("ann")!
        let frames: [(HubFrame, String)] = [
            (
                .welcome(
                    HubFrame.Welcome(version: 1, connection: "c1", user: user, now: 9, expires: 0, window: 3, limits: RoomsLimits())),
                #"{"t":"welcome","v":1,"conn":"c1","user":"ann","now":9,"window":3,"limits":{"frame":1048576,"body":65536,"#
                    + #""roomWindow":32,"window":256,"rooms":1000,"page":500,"members":200}}"#
            ),
            (.renewed(expires: 0), #"{"t":"renewed"}"#),
            (
                .state(
                    HubFrame.RoomState(
                        room: room, epoch: 255, from: 58, to: 58, head: 58, base: 1, items: [entry], isSnapshot: false, hasMore: false,
                        high: 0, highID: nil, rights: .member, reads: [])),
                #"{"t":"state","room":"abc","epoch":"00000000000000ff","from":58,"to":58,"head":58,"base":1,"items":[\#(entryJSON)],"#
                    + #""rights":"rwp"}"#
            ),
            (
                .state(
                    HubFrame.RoomState(
                        room: room, epoch: 255, from: 1, to: 0, head: 0, base: 1, items: [], isSnapshot: true, hasMore: true, high: 7,
                        highID: id, rights: [.read, .admin], reads: [HubFrame.ReadMarker(user: user, seq: 40)], proof: proof)),
                #"{"t":"state","room":"abc","epoch":"00000000000000ff","from":1,"base":1,"snapshot":true,"more":true,"high":7,"#
                    + #""highId":"01937a3e-7c1b-7000-8000-000000000001","rights":"ra","reads":[{"user":"ann","seq":40}],"#
                    + #""proof":"00000000000000010000000000000002"}"#
            ),
            (
                .entries(room, epoch: 1, [entry, entry]),
                #"{"t":"msg","room":"abc","epoch":"0000000000000001","items":[\#(entryJSON),\#(entryJSON)]}"#
            ),
            (
                .entries(room, epoch: 1, [], proof: proof),
                #"{"t":"msg","room":"abc","epoch":"0000000000000001","proof":"00000000000000010000000000000002"}"#
            ),
            (
                .acks(
                    room, epoch: .max,
                    [
                        HubFrame.Ack(cseq: 8, seq: 58, at: 6, id: id),
                        HubFrame.Ack(cseq: 9, seq: 0, at: 0, id: nil, isDuplicate: true),
                    ]),
                #"{"t":"ack","room":"abc","epoch":"ffffffffffffffff","acks":[{"cseq":8,"seq":58,"at":6,"#
                    + #""id":"01937a3e-7c1b-7000-8000-000000000001"},{"cseq":9,"dup":true}]}"#
            ),
            (.hole(room, expected: 8), #"{"t":"hole","room":"abc","expected":8}"#),
            (.lag(room, head: 58), #"{"t":"lag","room":"abc","head":58}"#),
            (
                .page(HubFrame.Page(reference: 7, room: room, epoch: 1, items: [], base: 1)),
                #"{"t":"page","ref":7,"room":"abc","epoch":"0000000000000001","base":1}"#
            ),
            (.read(room, user, upTo: 58), #"{"t":"read","room":"abc","user":"ann","seq":58}"#),
            (
                .members(
                    HubFrame.RoomMembers(
                        room: room, node: "n1", incarnation: 1, version: 12, isFull: true, total: 2,
                        members: [PresentMember(connection: "c1", user: user, presence: Presence(meta: Array("{}".utf8)))],
                        gone: ["c2", "c3"])),
                #"{"t":"members","room":"abc","node":"n1","incarnation":"0000000000000001","version":12,"full":true,"total":2,"#
                    + #""members":[{"conn":"c1","user":"ann","status":"online","meta":{}}],"gone":["c2","c3"]}"#
            ),
            (.typing(room, user, true), #"{"t":"typ","room":"abc","user":"ann","on":true}"#),
            (
                .signal(room, from: user, connection: "c1", Signal(type: "cursor", payload: .json(Array("null".utf8)))),
                #"{"t":"sig","room":"abc","user":"ann","conn":"c1","type":"cursor","body":null}"#
            ),
            (
                .refusal(Refusal(.rate, retry: .after(1500), room: room, cseq: 9, reference: 7, "slow down")),
                #"{"t":"error","code":4001,"retry":"after","after":1500,"room":"abc","cseq":9,"ref":7,"text":"slow down"}"#
            ),
            (
                .refusal(Refusal(.version, versions: [1], "")),
                #"{"t":"error","code":1002,"retry":"never","versions":[1],"text":""}"#
            ),
            (.pong(1, now: 2), #"{"t":"pong","n":1,"now":2}"#),
            (.goaway(HubFrame.Goaway(after: 3, drain: 4)), #"{"t":"goaway","after":3,"drain":4}"#),
        ]
        for (frame, json) in frames { #expect(String(decoding: frame.json(), as: UTF8.self) == json) }
    }

    @Test func `texts are escaped where JSON requires it`() throws {
        let name = RoomName("a\"\\/é\u{2028}😀")!
        #expect(String(decoding: ClientFrame.leave(name).json(), as: UTF8.self) == "{\"t\":\"leave\",\"room\":\"a\\\"\\\\/é\u{2028}😀\"}")
        let token = ClientFrame.auth(token: "\u{0}\n\u{1F}\u{7F}").json()
        #expect(String(decoding: token, as: UTF8.self) == "{\"t\":\"auth\",\"token\":\"\\u0000\\n\\u001f\u{7F}\"}")
    }

    @Test func `fields may come in any order, with any white space, and keys and texts with escapes`() throws {
        let frame = ClientFrame.read(room, upTo: 5)
        #expect(try client(#"{"seq":5,"room":"abc","t":"read"}"#) == frame)
        #expect(try client("\t{ \"seq\" : 5 ,\n\"room\"\r: \"abc\" , \"t\" : \"read\" } ") == frame)
        #expect(try client(#"{"\u0074":"re\u0061d","r\u006fom":"\u0061bc","seq":5}"#) == frame)
        #expect(try client(#"{"t":"leave","room":"\ud83d\ude00\"\\\/\u00e9"}"#) == .leave(RoomName("😀\"\\/é")!))
    }

    @Test func `the last of repeated keys counts`() throws {
        #expect(try client(#"{"t":"read","seq":4,"room":"x","seq":5,"room":"abc"}"#) == .read(room, upTo: 5))
        #expect(try client(#"{"t":"ping","n":"ignored","room":"abc","t":"leave"}"#) == .leave(room))
        #expect(try client(#"{"t":"leave","room":"abc","t":"nobody knows"}"#) == nil)
        #expect(try client(#"{"t":"read","room":"abc","seq":1,"t":"read"}"#) == .read(room, upTo: 1))
        #expect(try payload(#""body":1,"bin":"AQ==""#) == .binary([1]))
        #expect(try payload(#""bin":"AQ==","body":1"#) == .json(Array("1".utf8)))
        guard
            case .hello(let hello) = try client(
                #"{"t":"hello","device":"0123456789abcdef0123456789abcdef","joins":[{"room":"x"}],"v":[1],"joins":[{"room":"abc"}],"v":[2]}"#
            )
        else {
            Issue.record("no hello")
            return
        }
        #expect(hello.joins == [ClientFrame.Join(room: room)] && hello.versions == [2])
    }

    @Test func `unknown fields are ignored, whatever they hold`() throws {
        let values = ["1", "-0.5E+9", "true", "false", "null", #""x""#, "[]", "{}", #"[{"t":"x","room":[1,{"a":null}]}]"#, "[[],[[]],{}]"]
        for value in values {
            let json = #"{"new":\#(value),"t":"read","newer":\#(value),"room":"abc","about":\#(value),"seq":5,"":\#(value)}"#
            #expect(try client(json) == .read(room, upTo: 5))
            let ack = #"{"t":"ack","room":"abc","epoch":"0000000000000001","acks":[{"x":\#(value),"cseq":1,"y":\#(value)}],"z":\#(value)}"#
            #expect(try hub(ack) == .acks(room, epoch: 1, [HubFrame.Ack(cseq: 1, seq: 0, at: 0, id: nil)]))
        }
    }

    @Test func `a frame of an unknown type is ignored without an error`() throws {
        for type in ["future", "", "pub ", "PUB", #"pub\u0000"#, "a type longer than sixteen bytes", "é"] {
            #expect(try client(#"{"t":"\#(type)","room":5,"cseq":"x"}"#) == nil)
            #expect(try hub(#"{"room":[],"t":"\#(type)"}"#) == nil)
        }
        // Frame types of the other direction are unknown, too.
        #expect(try client(#"{"t":"welcome","v":[]}"#) == nil)
        #expect(try hub(#"{"t":"pub","cseq":"x"}"#) == nil)
    }

    @Test func `missing fields have their default values`() throws {
        #expect(try client(#"{"t":"join","room":"abc"}"#) == .join(ClientFrame.Join(room: room)))
        #expect(try client(#"{"t":"join","room":"abc","next":0}"#) == .join(ClientFrame.Join(room: room, next: 1)))
        #expect(try client(#"{"t":"pres","room":"abc"}"#) == .presence(room, Presence(status: "online")))
        #expect(try client(#"{"t":"read","room":"abc"}"#) == .read(room, upTo: 0))
        #expect(try hub(#"{"t":"goaway"}"#) == .goaway(HubFrame.Goaway(after: 0, drain: 0)))
        let welcome = HubFrame.Welcome(
            version: 1, connection: "c", user: UserName("u")!, now: 0, expires: 0, window: 0, limits: RoomsLimits())
        #expect(try hub(#"{"t":"welcome","v":1,"conn":"c","user":"u"}"#) == .welcome(welcome))
        #expect(try hub(#"{"t":"welcome","v":1,"conn":"c","user":"u","limits":{}}"#) == .welcome(welcome))
    }

    @Test func `a payload is passed on unchanged`() throws {
        for json in [#"{ "a" : [ 1 , 2.50 ] }"#, #""\u00e9\/""#, "1e5", "{\n}", #"{"a":1,"a":2}"#, "-0"] {
            #expect(try payload(#""body":  \#(json)  "#) == .json(Array(json.utf8)))
        }
    }

    @Test func `a payload is one JSON value in UTF-8, of at most 64 levels`() throws {
        for json in ["1", #"{"a":[]}"#, "[ 1 ]", String(repeating: "[", count: 64) + String(repeating: "]", count: 64)] {
            #expect(Payload(json: Array(json.utf8)) == .json(Array(json.utf8)))
        }
        for json in ["", " ", "1 2", "{", "]", #"{"a"}"#, "nul", "01", "1.", "+1", "'a'", "\"\n\"", #""\x""#, "[1,]", #"{"a":1,}"#, "NaN"] {
            #expect(Payload(json: Array(json.utf8)) == nil, "\(json)")
            #expect(complaint(pub(#""body":\#(json)"#)) != nil, "\(json)")
        }
        let deep = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
        #expect(Payload(json: Array(deep.utf8)) == nil)
        #expect(complaint(pub(#""body":\#(deep)"#))?.problem == .tooDeep)
        #expect(complaint(pub(#""new":\#(String(repeating: #"{"a":"#, count: 100_000))"#))?.problem == .tooDeep)
    }

    @Test func `texts must be valid UTF-8`() {
        // RFC 3629 §4 and invalid forms: overlong, surrogates, too large, lone continuation bytes, truncated.
        let wrong: [[UInt8]] = [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x9F, 0xBF], [0xE1, 0x80], [0xE1, 0x80, 0x41],
            [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF],
            [0xF1, 0x80, 0x80, 0xC2],
        ]
        for bytes in wrong { #expect(Payload(json: [0x22] + bytes + [0x22]) == nil, "\(bytes)") }
        let right: [[UInt8]] = [
            [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xEC, 0xBF, 0xBF], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80],
            [0xEF, 0xBF, 0xBF], [0xF0, 0x90, 0x80, 0x80], [0xF3, 0xBF, 0xBF, 0xBF], [0xF4, 0x8F, 0xBF, 0xBF],
        ]
        for bytes in right { #expect(Payload(json: [0x22] + bytes + [0x22]) != nil, "\(bytes)") }
        #expect(complaint(#"{"t":"leave","room":"\ud83d"}"#)?.problem == .invalidText)
    }

    @Test func `bytes are Base64 with padding`() throws {
        // RFC 4648 §10.
        let vectors = ["": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=", "foobar": "Zm9vYmFy"]
        for (plain, text) in vectors {
            #expect(try payload(#""bin":"\#(text)""#) == .binary(Array(plain.utf8)))
            let json = ClientFrame.signal(room, Signal(type: "x", payload: .binary(Array(plain.utf8)))).json()
            #expect(String(decoding: json, as: UTF8.self) == #"{"t":"sig","room":"abc","type":"x","bin":"\#(text)"}"#)
        }
        #expect(try payload(#""bin":"+\/+\/""#) == .binary([0xFB, 0xFF, 0xBF]))
        for text in ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "====", "=", "Zm9v\\n", "Zm 9", "-_-_", "Zg=A"] {
            #expect(complaint(pub(#""bin":"\#(text)""#))?.problem == .invalidValue, "\(text)")
        }
    }
}
