import RoomCore
import RoomsWire
import Testing

private func pub(_ fields: String) -> String {
    #"{"t":"pub","room":"abc","cseq":8,"id":"01937a3e-7c1b-7000-8000-000000000001","type":"x","body":1,\#(fields)}"#
}

private func entry(_ fields: String) -> String {
    #"{"t":"msg","room":"abc","epoch":"0000000000000001","items":[{"seq":58,"id":"01937a3e-7c1b-7000-8000-000000000001","#
        + #""device":"0123456789abcdef0123456789abcdef","cseq":8,"user":"ann","type":"x","body":1,\#(fields)}]}"#
}

@Suite struct RoomsWireRefusalTests {
    @Test func `numbers are whole, not negative, and below 2 to the 53`() throws {
        #expect(try client(#"{"t":"ping","n":9007199254740991}"#) == .ping((1 << 53) - 1))
        for number in ["9007199254740992", "-1", "99999999999999999999999999999999", "-9007199254740991"] {
            #expect(complaint(#"{"t":"ping","n":\#(number)}"#) == FrameError(.outOfRange, field: "n", at: 16), "\(number)")
        }
        for number in ["1.0", "1e3", "1E0", #""1""#, "true", "null", "[]"] {
            #expect(complaint(#"{"t":"ping","n":\#(number)}"#) == FrameError(.wrongKind, field: "n", at: 16), "\(number)")
        }
        for number in ["01", "-", "+1", "--1", "0x1", "1 1"] {
            #expect(complaint(#"{"t":"ping","n":\#(number)}"#)?.problem == .malformed, "\(number)")
        }
        #expect(try client(#"{"t":"ping","n":-0}"#) == .ping(0))
    }

    @Test func `only a cursor without an epoch may ask for the last entries`() throws {
        #expect(complaint(#"{"t":"join","room":"abc","epoch":"0000000000000001","seq":-1}"#)?.field == "seq")
        #expect(complaint(#"{"t":"join","room":"abc","seq":-9007199254740992}"#)?.problem == .outOfRange)
        #expect(try client(#"{"t":"join","room":"abc","epoch":"0000000000000000","seq":-1}"#) != nil)
    }

    @Test func `names and IDs must have a valid form`() {
        for name in ["", #"\u0007"#, #"\u0085"#, String(repeating: "é", count: 65)] {
            #expect(complaint(#"{"t":"leave","room":"\#(name)"}"#) == FrameError(.invalidName, field: "room", at: 20), "\(name)")
            #expect(hubComplaint(#"{"t":"typ","room":"abc","user":"\#(name)"}"#)?.field == "user", "\(name)")
        }
        let ids = ["", "01937a3e7c1b70008000000000000001", "01937a3e-7c1b-7000-8000-00000000000g", "01937a3e-7c1b-7000-80000-0000000001a"]
        for id in ids { #expect(complaint(pub(#""id":"\#(id)""#))?.field == "id", "\(id)") }
        for device in ["", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdefa", "0123456789abcdef0123456789abcdeg"] {
            #expect(complaint(#"{"t":"hello","device":"\#(device)"}"#)?.field == "device", "\(device)")
        }
        for epoch in ["", "1", "000000000000000g", "00000000000000001"] {
            #expect(complaint(#"{"t":"join","room":"abc","epoch":"\#(epoch)"}"#)?.field == "epoch", "\(epoch)")
        }
        // A log always has an epoch.
        #expect(hubComplaint(#"{"t":"msg","room":"abc","epoch":"0000000000000000"}"#) == FrameError(.invalidValue, field: "epoch", at: 32))
    }

    @Test func `the error for a field of another kind has its name and offset`() {
        let cases: [(String, String)] = [
            (#"{"t":5}"#, "t"), (#"{"t":"leave","room":5}"#, "room"), (#"{"t":"typ","room":"abc","on":1}"#, "on"),
            (#"{"t":"typ","room":"abc","on":"true"}"#, "on"), (#"{"t":"hello","v":1}"#, "v"), (#"{"t":"hello","v":["1"]}"#, "v"),
            (#"{"t":"hello","joins":{}}"#, "joins"), (#"{"t":"hello","joins":[1]}"#, "joins"), (#"{"t":"auth","token":null}"#, "token"),
            (pub(#""about":"edit""#), "about"), (pub(#""bin":[1]"#), "bin"), (pub(#""void":0"#), "void"),
        ]
        for (json, field) in cases {
            let complaint = complaint(json)
            #expect(complaint?.problem == .wrongKind && complaint?.field == field && complaint?.offset != nil, "\(json)")
        }
        #expect(complaint(#"[1]"#)?.problem == .wrongKind)
        #expect("\(FrameError(.wrongKind, field: "room", at: 19))" == "room: a value of the wrong kind, at byte 19")
        #expect("\(FrameError(.truncated))" == "the bytes end before the frame does")
    }

    @Test func `the error for a missing field has its name`() {
        let cases: [(String, String)] = [
            ("{}", "t"), (#"{"type":"ping"}"#, "t"), (#"{"t":"leave"}"#, "room"), (#"{"t":"auth"}"#, "token"),
            (#"{"t":"hello"}"#, "device"),
            (#"{"t":"hello","device":"0123456789abcdef0123456789abcdef","joins":[{}]}"#, "room"),
            (#"{"t":"pub","cseq":1,"id":"01937a3e-7c1b-7000-8000-000000000001","void":true}"#, "room"),
            (#"{"t":"pub","room":"abc","id":"01937a3e-7c1b-7000-8000-000000000001","void":true}"#, "cseq"),
            (#"{"t":"pub","room":"abc","cseq":1,"void":true}"#, "id"),
            (#"{"t":"pub","room":"abc","cseq":1,"id":"01937a3e-7c1b-7000-8000-000000000001","body":1}"#, "type"),
            (#"{"t":"pub","room":"abc","cseq":1,"id":"01937a3e-7c1b-7000-8000-000000000001","body":1,"type":""}"#, "type"),
            (#"{"t":"pub","room":"abc","cseq":1,"id":"01937a3e-7c1b-7000-8000-000000000001","type":"x"}"#, "body"),
            (pub(#""about":{}"#), "about"), (pub(#""about":{"kind":"","seq":1}"#), "about"),
            (#"{"t":"sig","room":"abc","type":"x"}"#, "body"),
            (#"{"t":"sig","room":"abc","body":1}"#, "type"),
        ]
        for (json, field) in cases {
            let complaint = complaint(json)
            #expect(complaint?.problem == .missing && complaint?.field == field, "\(json): \(complaint as Any)")
        }
        let answers: [(String, String)] = [
            (#"{"t":"msg","room":"abc"}"#, "epoch"), (#"{"t":"hole","room":"abc"}"#, "expected"), (#"{"t":"error","retry":"now"}"#, "code"),
            (#"{"t":"error","code":1}"#, "retry"), (#"{"t":"welcome","v":1,"conn":"c"}"#, "user"), (#"{"t":"read","room":"abc"}"#, "user"),
            (#"{"t":"members","room":"abc"}"#, "node"), (#"{"t":"ack","room":"abc","epoch":"0000000000000001","acks":[{}]}"#, "cseq"),
            (#"{"t":"sig","room":"abc","user":"u","type":"x","body":1}"#, "conn"),
            (#"{"t":"page","room":"abc","epoch":"0000000000000001","items":[{}]}"#, "seq"),
            (#"{"t":"state","room":"abc","epoch":"0000000000000001","reads":[{}]}"#, "user"),
        ]
        for (json, field) in answers {
            let complaint = hubComplaint(json)
            #expect(complaint?.problem == .missing && complaint?.field == field, "\(json): \(complaint as Any)")
        }
        #expect(hubComplaint(#"{"t":"error","code":1,"retry":"soon"}"#)?.problem == .invalidValue)
    }

    @Test func `lists and texts have length limits`() throws {
        let long = String(repeating: "x", count: 65)
        #expect(complaint(#"{"t":"hello","v":[\#(repeatElement("1", count: 65).joined(separator: ","))]}"#)?.problem == .tooLong)
        #expect(complaint(#"{"t":"hello","agent":"\#(long)\#(long)"}"#)?.problem == .tooLong)
        #expect(hubComplaint(entry(#""type":"\#(long)""#))?.problem == .tooLong)
        #expect(hubComplaint(entry(#""type":"\u0078\#(long)""#))?.problem == .tooLong)
        #expect(hubComplaint(entry(#""about":{"kind":"\#(long)","seq":1}"#))?.problem == .tooLong)
        #expect(hubComplaint(#"{"t":"error","text":"\#(String(repeating: long, count: 4))"}"#)?.problem == .tooLong)
        // The hub refuses these itself, and names the publication.
        #expect(try client(pub(#""type":"\#(long)","about":{"kind":"\#(long)","seq":1}"#)) != nil)
    }

    @Test func `the error for invalid JSON has the byte offset`() {
        let cases: [(String, FrameError.Problem, Int)] = [
            ("", .truncated, 0), ("  ", .truncated, 2), ("{", .truncated, 1), (#"{"t""#, .truncated, 4), (#"{"t":"ping""#, .truncated, 11),
            (#"{"t":"ping"}x"#, .trailingBytes, 12), (#"{"t":"ping"}{}"#, .trailingBytes, 12), (#"{"t":"ping",}"#, .malformed, 12),
            (#"{"t" "ping"}"#, .malformed, 5), (#"{"t":"ping" "n":1}"#, .malformed, 12), (#"{t:"ping"}"#, .malformed, 1),
            (#"{"t":"ping","x":tru}"#, .malformed, 19), (#"{"t":"ping","x":[1 2]}"#, .malformed, 19),
            (#"{"t":"ping","x":{1:2}}"#, .malformed, 17),
            (#"{"t":"ping","x":[1}}"#, .malformed, 18), (#"{"t":"ping","x":.5}"#, .malformed, 16),
            (#"{"t":"ping","x":1.}"#, .malformed, 18),
            (#"{"t":"ping","x":1e}"#, .malformed, 18), (#"{"t":"ping","x":"\u12g4"}"#, .malformed, 21),
            ("{\"t\":\"ping\",\"x\":\"\t\"}", .malformed, 17),
            ("\u{FEFF}{}", .malformed, 0), ("nonsense", .malformed, 1),
        ]
        for (json, problem, offset) in cases {
            let complaint = complaint(json)
            #expect(complaint?.problem == problem && complaint?.offset == offset, "\(json): \(complaint as Any)")
        }
    }
}
