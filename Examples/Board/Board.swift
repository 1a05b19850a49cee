import Foundation
package import HoldfastProtocols

// snippet.FACADE
/// What an app has of boards.
package final class Board: Sendable {
    private let client: ProtocolClient<BoardRules>

    package init(_ url: String, configure: (inout WebSocketOptions) -> Void = { _ in }) {
        let socket = WebSocket(url) { options in
            options.connection.subprotocols = ["board.v1"]
            configure(&options)
        }
        // Ids begin at 1 in each client, so each has a name of its own.
        let rules = BoardRules(name: UUID().uuidString, seed: .random(in: .min ... .max))
        client = ProtocolClient(rules, over: socket) { opening throws(ConnectionEnd) in
            guard opening.subprotocol == "board.v1" else { throw .close(.protocolError, reason: "it is no board") }
            return CodableCoding<BoardReply, BoardRequest>(ignoresUnknown: true)
        }
    }

    /// Posts a text; returns what becomes of it, after however many connections.
    package func post(_ text: String, to channel: String, within patience: Duration? = nil) async throws -> BoardRules.Event.News {
        try await client.request { .post($0, channel: channel, text: text, patience: patience) }.news
    }

    /// The items of a channel behind a number, each once and in order.
    package func items(of channel: String, after number: Int = 0) -> ProtocolEvents<BoardRules.Event> {
        client.stream({ .follow($0, channel: channel, after: number) }, cancel: { .leave($0) })
    }

    package func close() async { await client.close() }
}
// snippet.end
