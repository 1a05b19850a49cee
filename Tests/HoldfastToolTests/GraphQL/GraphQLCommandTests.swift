import ArgumentParser
import CodecCore
import Holdfast
import HoldfastTerminal
import Testing

@testable import GraphQLCore
@testable import HoldfastGraphQL
@testable import HoldfastTool

@Suite struct GraphQLCommandTests {
    private static let start = ["ws://127.0.0.1:1/graphql", "subscription { ticks }"]

    @Test(arguments: [
        (GraphQLFailure.Code.refused, Outcome.answeredWithError), (.rejected, .answeredWithError), (.connectionRefused, .refused),
        (.outcomeUnknown, .lost), (.cancelled, .interrupted), (.unencodable, .usage), (.undecodable, .failed), (.closed, .lost),
    ])
    func `the exit status says what kind of failure it was`(code: GraphQLFailure.Code, outcome: Outcome) {
        #expect(Outcome(GraphQLFailure(code)) == outcome)
    }

    @Test func `an operation that was sent is unanswered, and one that was not sent has no server`() {
        #expect(Outcome(GraphQLFailure(.timedOut, mayHaveArrived: true)) == .unanswered)
        #expect(Outcome(GraphQLFailure(.timedOut)) == .unreachable)
        let cause = WebSocketError(TransportError(.unknownAuthority, "the certificate is not trusted"))
        #expect(Outcome(GraphQLFailure(.timedOut, underlying: cause)) == .tls)
        #expect(Outcome(GraphQLFailure(.closed, underlying: cause)) == .tls)
    }

    @Test func `a line has the data alone, or the data with the errors`() throws {
        let options = GraphQLOptions()
        func line(_ data: String?, _ errors: [GraphQLError] = []) throws -> String {
            GraphQLLine.response(try GraphQLResponse(GraphQLResult(data: data.map { Array($0.utf8) }, errors: errors), options))
        }
        #expect(try line(#"{"price":7}"#) == #"{"price":7}"#)
        #expect(try line(nil) == "null")
        let plain = GraphQLError("no price")
        #expect(try line(nil, [plain]) == #"{"data":null,"errors":[{"message":"no price"}]}"#)
        let full = GraphQLError("no price", path: [.field("ticks"), .index(2)], extensions: ["code": "GONE"])
        #expect(
            try line(#"{"ticks":[]}"#, [full])
                == #"{"data":{"ticks":[]},"errors":[{"message":"no price","path":["ticks","2"],"extensions":{"code":"GONE"}}]}"#)
    }

    @Test func `the payload comes from the environment unless it is given`() throws {
        let environment = [GraphQLOptionGroup.payloadVariable: #"{"token":"e"}"#]
        func payload(_ arguments: String...) throws -> Value? {
            try GraphQLSubscribeCommand.parse(Self.start + arguments).operation.payload(environment: environment)
        }
        #expect(try payload() == ["token": "e"])
        #expect(try payload("--payload", #"{"token":"o"}"#) == ["token": "o"])
        #expect(try GraphQLQueryCommand.parse(Self.start).operation.payload(environment: [:]) == nil)
    }

    @Test(arguments: [
        ["--variables", "[1]"], ["--variables", "7"], ["--count", "0"], ["--subprotocol", "graphql-ws"], ["--patience", "-1"],
    ])
    func `arguments that cannot work are refused before anything is sent`(arguments: [String]) {
        #expect(throws: (any Error).self) { try GraphQLSubscribeCommand.parse(Self.start + arguments) }
    }

    @Test func `a mutation has no count`() throws {
        #expect(throws: (any Error).self) { try GraphQLMutateCommand.parse(Self.start + ["--count", "1"]) }
        #expect(try GraphQLMutateCommand.parse(Self.start + ["--legacy", "--name", "M"]).operation.legacy)
    }
}
