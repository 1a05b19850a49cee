import Holdfast
import WebSocketRuntime
import ScriptedPeers
import Testing
import WebSocketCore

/// A server or proxy that repeats a secret wherever it can: in refusals, broken answers, messages and its close reason.
struct RudeServer: Sendable {
    let carrier: SecretCarrier
    let secret: String
    /// The number of requests, and whether one of them had the secret.
    let requests = LockedValue((count: 0, sawSecret: false))

    /// Answers the next connection, each in another way.
    func serve(_ peer: ScriptedPeer) async throws {
        let turn = requests.withLockedValue { requests in
            requests.count += 1
            return requests.count
        }
        var request = try await peer.readRequest()
        if carrier == .proxyPassword {
            checkForSecret("\(Array(request.headers).map(\.value))")
            switch turn {
            case 1:
                let words = "HTTP/1.1 407 not \(secret)\r\nProxy-Authenticate: Basic realm=\"\(secret)\"\r\nContent-Length: 0\r\n\r\n"
                return try await peer.send(words)
            case 2: return try await peer.send("HTTP/1.1 502 \(secret)\r\nX-Why: \(secret)\r\nContent-Length: 0\r\n\r\n")
            default:
                try await peer.send("HTTP/1.1 200 OK\r\n\r\n")
                request = try await peer.readRequest()
            }
        }
        checkForSecret("\(request.target) \(Array(request.headers).map(\.value))")
        try await answer(request, turn, peer)
    }

    private func answer(_ request: RequestHead, _ turn: Int, _ peer: ScriptedPeer) async throws {
        // The secret of a message is not known before the message.
        let secret = carrier == .connectionInit ? "nobody" : secret
        func refuse(_ status: String, _ field: String) async throws {
            let head = "HTTP/1.1 \(status) not \(secret)\r\n\(field)\r\nX-Why: \(secret)\r\nContent-Length: \(secret.utf8.count)\r\n\r\n"
            try await peer.send(head + secret)
        }
        switch turn {
        case 1, 2: try await refuse("503", "Server: rude")
        case 3:
            let fields = ScriptedPeer.acceptance(of: request, ["Sec-WebSocket-Extensions": secret])
            try await peer.send(try ResponseHead(status: 101, headers: fields).encoded())
        case 4: try await peer.send("HTTP/1.1 101 Switching Protocols\r\nno \(secret): x\r\n\r\n")
        case 5: try await refuse("302", "Location: ws://elsewhere.example/login?t=\(secret)")
        case 6: try await refuse("401", "WWW-Authenticate: Bearer realm=\"\(secret)\", error_description=\"\(secret) has expired\"")
        case 7: try await talk(request, peer)
        default: try await refuse("403", "Set-Cookie: c=\(secret)")
        }
    }

    private func talk(_ request: RequestHead, _ peer: ScriptedPeer) async throws {
        var fields: HeaderFields = ["X-Seen": secret]
        let offered = request.headers.tokens("Sec-WebSocket-Protocol")
        if let name = offered.first(where: { $0.contains(secret) }) ?? offered.first { fields.add("Sec-WebSocket-Protocol", name) }
        try await peer.send(try ResponseHead(status: 101, headers: ScriptedPeer.acceptance(of: request, fields)).encoded())
        try await peer.send(.text(#"{"token":"\#(secret)"}"#), to: .client)
        // The app knows this secret, and no field name marks it as one.
        if carrier != .connectionInit { try await peer.send(.text("you are \(secret)"), to: .client) }
        let first = try await peer.readFrame()
        checkForSecret(String(decoding: first.payload, as: UTF8.self))
        try await peer.send(.close(.internalError, reason: "cannot serve \(secret)"), to: .client)
        _ = await peer.readToEnd()
    }

    private func checkForSecret(_ words: String) {
        guard SecretEar.spellings(of: secret).contains(where: { words.contains($0) }) else { return }
        requests.withLockedValue { $0.sawSecret = true }
    }
}
