import Holdfast
import MachineCore

extension Console {
    /// Says what was agreed on.
    func note(_ connection: WebSocketConnection, to url: WebSocketURL) {
        let parts =
            ["connected to \(url)"] + (connection.subprotocol.map { ["subprotocol \(Secrecy.subprotocol($0))"] } ?? [])
            + (connection.compression == nil ? [] : ["permessage-deflate"])
        note(parts.joined(separator: ", "), .good)
    }

    /// Says what went wrong.
    func note(_ error: WebSocketError) {
        for line in error.lines { note(line, .bad) }
    }
}
