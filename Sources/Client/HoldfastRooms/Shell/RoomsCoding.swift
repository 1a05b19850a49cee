import Holdfast
import MachineCore
import HoldfastProtocols
import ProtocolCore
import RoomCore
import RoomsWire
import WebSocketCore
import WebSocketRuntime

/// Encodes and decodes the frames of one connection, and holds the token shown on it.
struct RoomsCoding: ProtocolCoding {
    let encoding: RoomsEncoding
    /// Whether the server chose the encoding; a server that chose none may not be a hub.
    let isAgreed: Bool
    let greeting: RoomsGreeting
    let secrets: SessionSecrets

    func decode(_ message: Message) throws -> HubFrame? {
        let frame = try encoding.decodeHubFrame(message)
        guard case .refusal(var refusal)? = frame else { return frame }
        // A hub may repeat a token in the text of a refusal, and apps show that text.
        refusal.text = secrets.hiding(refusal.text)
        return .refusal(refusal)
    }

    func encode(_ frame: ClientFrame) -> Message { encoding.encode(frame) }

    func isEphemeral(_ frame: ClientFrame) -> Bool { if case .signal = frame { true } else { false } }

    /// The error for a server that has not sent a welcome in time.
    var silence: RoomsError {
        if isAgreed { return .timedOut("the hub's welcome") }
        return .notAHub("it selected no rooms subprotocol, and has not answered the hello")
    }
}

extension RoomsView {
    static func coding(for opening: Opening, in shell: RoomsShell) async throws(ConnectionEnd) -> RoomsCoding {
        let token: String?
        do throws(TokenSource.Failure) { token = try await shell.context.tokens?.token() } catch {
            let error = RoomsError(error)
            guard error.isRetryable || Task.isCancelled else {
                shell.access { view in view.ending = view.ending ?? error }
                shell.changes.announce()
                throw .stop
            }
            // Treated like a hub that does not answer: the socket's backoff decides when to try again.
            shell.access { view in view.drop(for: error) }
            throw .cut(reason: "there is no token")
        }
        let context = shell.context
        return RoomsCoding(
            encoding: opening.subprotocol.flatMap { RoomsEncoding(subprotocol: $0) } ?? .json, isAgreed: opening.subprotocol != nil,
            greeting: RoomsGreeting(token: token, calendar: context.calendar()), secrets: context.secrets)
    }

    /// Whether to read on; false while the store has too many pending changes.
    static func mayReadOn(in shell: RoomsShell) -> Bool { shell.access { view in view.mayReadOn } }
    static func pace(in shell: RoomsShell) async {
        await shell.context.storeChanges.first { mayReadOn(in: shell) ? () : nil }
    }
}
