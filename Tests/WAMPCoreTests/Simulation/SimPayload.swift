import CodecCore
import WAMPCore

/// The content of each payload: the request, its client, a sequence number and the URI.
struct SimPayload {
    let id: Int64
    let client: Int64
    let number: Int64
    let uri: String

    init(id: Int64, client: Int64, number: Int64, uri: String) {
        (self.id, self.client, self.number, self.uri) = (id, client, number, uri)
    }

    init?(_ arguments: WAMPArguments) {
        guard let list = try? arguments.list, list.count == 4, let id = list[0].int, let client = list[1].int, let number = list[2].int,
            let uri = list[3].string
        else { return nil }
        self.init(id: Int64(id), client: Int64(client), number: Int64(number), uri: uri)
    }

    var arguments: WAMPArguments { WAMPArguments([.integer(id), .integer(client), .integer(number), .text(uri)]) }
}

/// The answer of a handler.
enum SimReply { case part(Int64), result, failure(String) }

extension TopicKey {
    /// Whether an event of this topic matches.
    func covers(_ topic: String) -> Bool {
        switch match {
        case .exact: return topic == uri
        case .prefix: return topic.hasPrefix(uri)
        case .wildcard:
            let (pattern, parts) = (uri.split(separator: ".", omittingEmptySubsequences: false), topic.split(separator: "."))
            return pattern.count == parts.count && zip(pattern, parts).allSatisfy { $0.isEmpty || $0 == $1 }
        }
    }
}
