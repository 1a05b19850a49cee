import CodecCore
import GraphQLCore
import ProtocolCore
import Testing
import WebSocketCore

/// The messages of both protocols on the wire.
@Suite struct GraphQLMessagesTests {
    private let new = GraphQLCoding(.transportWS)
    private let legacy = GraphQLCoding(.legacy)
    static let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)

    @Test func `requests are written as each protocol names them`() {
        let payload = Array("{\"query\":\"q\"}".utf8)
        #expect(new.encode(.initialize(payload: nil)) == .text(#"{"type":"connection_init"}"#))
        #expect(new.encode(.initialize(payload: Array("{}".utf8))) == .text(#"{"type":"connection_init","payload":{}}"#))
        #expect(new.encode(.subscribe(RequestID(7), payload: payload)) == .text(#"{"id":"7","type":"subscribe","payload":{"query":"q"}}"#))
        #expect(legacy.encode(.subscribe(RequestID(7), payload: payload)) == .text(#"{"id":"7","type":"start","payload":{"query":"q"}}"#))
        #expect(new.encode(.complete(RequestID(7))) == .text(#"{"id":"7","type":"complete"}"#))
        #expect(legacy.encode(.complete(RequestID(7))) == .text(#"{"id":"7","type":"stop"}"#))
        #expect(new.encode(.ping) == .text(#"{"type":"ping"}"#))
        #expect(new.encode(.pong(payload: Array("1".utf8))) == .text(#"{"type":"pong","payload":1}"#))
    }

    @Test func `replies are read in any order of their fields`() throws {
        #expect(try new.decode(.text(#"{"type":"connection_ack"}"#)) == .acknowledged(payload: nil))
        #expect(try new.decode(.text(#"{"payload":{"a":1},"type":"connection_ack"}"#)) == .acknowledged(payload: Array(#"{"a":1}"#.utf8)))
        #expect(try new.decode(.text(#" { "type" : "ping" , "payload" : null } "#)) == .ping(payload: Array("null".utf8)))
        #expect(try new.decode(.text(#"{"type":"pong"}"#)) == .pong)
        #expect(try new.decode(.text(#"{"id":"7","type":"complete"}"#)) == .completed(RequestID(7)))
        let next = GraphQLResult(data: Array(#"{"v":[1,2]}"#.utf8))
        #expect(try new.decode(.text(#"{"id":"7","type":"next","payload":{"data":{"v":[1,2]}}}"#)) == .next(RequestID(7), next))
        #expect(try new.decode(.text(#"{"payload":{"data":{"v":[1,2]}},"id":"7","type":"next"}"#)) == .next(RequestID(7), next))
        #expect(try legacy.decode(.text(#"{"id":"7","type":"data","payload":{"data":{"v":[1,2]}}}"#)) == .next(RequestID(7), next))
        #expect(try legacy.decode(.text(#"{"type":"ka"}"#)) == .keepAlive)
    }

    @Test func `errors are read with their path, locations and extensions`() throws {
        let error = GraphQLError(
            "no", path: [.field("a"), .index(1)], locations: [.init(line: 2, column: 3)], extensions: ["code": "FORBIDDEN"])
        let json = #"{"message":"no","path":["a",1],"locations":[{"line":2,"column":3}],"extensions":{"code":"FORBIDDEN"}}"#
        #expect(try new.decode(.text(#"{"id":"1","type":"error","payload":[\#(json)]}"#)) == .failed(RequestID(1), [error]))
        #expect(error.code == "FORBIDDEN" && error.description == "no (at a.1)")
        var partial = GraphQLResult(errors: [error])
        #expect(
            try new.decode(.text(#"{"id":"1","type":"next","payload":{"data":null,"errors":[\#(json)]}}"#)) == .next(RequestID(1), partial))
        partial.data = Array("{}".utf8)
        #expect(
            try new.decode(.text(#"{"id":"1","type":"next","payload":{"errors":[\#(json)],"data":{}}}"#)) == .next(RequestID(1), partial))
        // The legacy protocol sends one error, or an object with several.
        #expect(try legacy.decode(.text(#"{"id":"1","type":"error","payload":\#(json)}"#)) == .failed(RequestID(1), [error]))
        #expect(try legacy.decode(.text(#"{"type":"connection_error","payload":{"message":"no"}}"#)) == .refused([GraphQLError("no")]))
        #expect(
            try legacy.decode(.text(#"{"id":"1","type":"error","payload":{"errors":["no"]}}"#))
                == .failed(RequestID(1), [GraphQLError("no")]))
    }

    @Test(arguments: [
        #"{"type":"zzz"}"#, #"{}"#, #"{"type":7}"#, #"{"id":"ghost","type":"next","payload":{"data":0}}"#, #"{"id":7,"type":"complete"}"#,
        #"{"type":"error","payload":[]}"#, #"{"id":"7","type":"next"}"#, #"{"id":"7","type":"data","payload":{}}"#,
    ])
    func `a message that concerns no operation of this client is ignored`(text: String) throws {
        #expect(try new.decode(.text(text)) == nil)
    }

    @Test(arguments: [
        "", "{", "[]", "7", #"{"type":"pong"} x"#, #"{"type":"pong""#, #"{"id":"1","type":"next","payload":[]}"#,
        #"{"id":"1","type":"next","payload":{"errors":[1,]}}"#, #"{"type":"ping","payload":{"at":,1}}"#,
        #"{"type":"pong","x":\#(GraphQLMessagesTests.deep)}"#,
    ])
    func `a message that is no JSON of the protocol is an error`(text: String) {
        #expect(throws: (any Error).self) { try new.decode(.text(text)) }
    }

    @Test func `a binary message is read if it is one of the protocol, and ignored otherwise`() throws {
        #expect(try new.decode(.binary(Array(#"{"type":"pong"}"#.utf8))) == .pong)
        #expect(try new.decode(.binary([0, 1])) == nil)
    }

    // MARK: - Parts of a result

    private func result(_ payload: String) throws -> GraphQLResult {
        guard case .next(_, let result)? = try new.decode(.text(#"{"id":"1","type":"next","payload":\#(payload)}"#)) else {
            throw CodecError(.malformed, at: 0)
        }
        return result
    }

    private func merged(_ payloads: String...) throws -> String {
        var data = try IncrementalData(result(payloads[0]))
        for payload in payloads.dropFirst() { try data.add(result(payload)) }
        return String(decoding: try data.json(), as: UTF8.self)
    }

    @Test func `deferred fields and streamed items are merged, in the format with paths`() throws {
        #expect(
            try merged(
                #"{"data":{"user":{"id":1},"list":[1]},"hasNext":true}"#,
                #"{"incremental":[{"path":["user"],"data":{"name":"ann"}}],"hasNext":true}"#,
                #"{"incremental":[{"path":["list",1],"items":[2,3]}],"hasNext":false}"#)
                == #"{"user":{"id":1,"name":"ann"},"list":[1,2,3]}"#)
    }

    @Test func `deferred fields and streamed items are merged, in the format with ids`() throws {
        #expect(
            try merged(
                #"{"data":{"user":{"id":1,"a":{"x":1}},"list":[]},"pending":[{"id":"0","path":["user"]},{"id":"1","path":["list"]}],"hasNext":true}"#,
                #"{"incremental":[{"id":"0","subPath":["a"],"data":{"y":2}},{"id":"1","items":[{"v":1}]}],"hasNext":true}"#,
                #"{"incremental":[{"id":"0","data":{"a":{"z":3}}}],"completed":[{"id":"0"},{"id":"1"}],"hasNext":false}"#)
                == #"{"user":{"id":1,"a":{"x":1,"y":2,"z":3}},"list":[{"v":1}]}"#)
    }

    @Test(arguments: [
        #"{"incremental":[{"path":["nobody"],"data":{}}]}"#, #"{"incremental":[{"path":["list",9,"a"],"data":{}}]}"#,
        #"{"incremental":[{"path":["user"],"items":[1]}]}"#, #"{"incremental":[{"id":"9","data":{}}]}"#,
        #"{"incremental":[{"path":["list"],"data":{}}]}"#,
    ])
    func `a part that fits nowhere is an error`(payload: String) throws {
        var data = try IncrementalData(result(#"{"data":{"user":{},"list":[1]},"hasNext":true}"#))
        let part = try result(payload)
        #expect(throws: IncrementalData.Misfit.self) { try data.add(part) }
    }

    @Test func `the machine gives a query with parts its whole result at the end, and limits its size`() throws {
        var bench = GraphQLBench.ready { $0.incrementalBytes = 64 }
        bench.begin(1, .query)
        bench.handle(.received(.next(RequestID(1), try result(#"{"data":{"a":1},"hasNext":true}"#))))
        bench.handle(.received(.next(RequestID(1), try result(#"{"incremental":[{"path":[],"data":{"b":2}}],"hasNext":false}"#))))
        #expect(bench.takeEvents().last.map { [$0.content, .completed] } != nil)
        bench.begin(2, .query)
        bench.handle(.received(.next(RequestID(2), try result(#"{"data":{"a":1},"hasNext":true}"#))))
        let text = String(repeating: "x", count: 100)
        bench.handle(.received(.next(RequestID(2), try result(#"{"incremental":[{"path":[],"data":{"b":"\#(text)"}}],"hasNext":true}"#))))
        #expect(bench.takeEvents().last == GraphQLBench.event(2, .failed(.misfit)))
        #expect(bench.takeSent().last == .complete(RequestID(2)))
    }
}
