import CodecCore
import Holdfast
import HoldfastTerminal
import SocketIOCore

/// How a server speaks Engine.IO, the transport of Socket.IO.
struct EngineIOView: Encodable, Hashable, Sendable {
    /// The version of Engine.IO.
    var version = SocketIOVersion.v5.engine
    let pingIntervalMs: Double
    let pingTimeoutMs: Double
    /// The maximum size of a message to the server, in bytes; nil if the server names none.
    var maxPayload: Int?
    /// The time from the request for the namespace `/` to its answer.
    var connectedMs: Double?
    /// Whether the server can send events that were missed in a gap.
    var recovers = false
    /// How the server refused the namespace `/` without a payload.
    var refusal: StepRefusal?
}

/// Opens a connection of Engine.IO, and asks for the namespace `/` without a payload; with Engine.IO 3 the server connects it on its own.
enum EngineIOProbe {
    /// The URL of Engine.IO for a URL; nil if the URL does not look like one.
    static func url(for url: WebSocketURL) -> WebSocketURL? {
        if url.target.contains("EIO=") { return url }
        guard url.socketPath == nil, url.target.contains("socket.io") || url.target.contains("engine.io") else { return nil }
        return try? WebSocketURL(url.string + (url.target.contains("?") ? "&" : "?") + "EIO=4&transport=websocket")
    }

    static func run(_ target: ProbeTarget) async -> EngineIOView? {
        guard let url = url(for: target.options.url), let wire = try? await Wire.open(target, change: { $0.url = url }) else { return nil }
        var messages = WireMessages(wire: wire)
        let view = await run(&messages, target)
        await wire.leave()
        return view
    }

    private static func run(_ messages: inout WireMessages, _ target: ProbeTarget) async -> EngineIOView? {
        let version: SocketIOVersion = url(for: target.options.url)?.target.contains("EIO=3") == true ? .v4 : .v5
        let coding = SocketIOCoding(version)
        let first = await messages.next(until: target.deadline()) { try coding.decode($0) }
        guard case .success(.opened(let handshake)) = first else { return nil }
        var view = EngineIOView(
            version: version.engine, pingIntervalMs: handshake.pingInterval.ms, pingTimeoutMs: handshake.pingTimeout.ms,
            maxPayload: handshake.maximumBytes)
        let start = ContinuousClock.now
        if version == .v5, case .text(let text) = coding.encode(.connect("/", payload: nil)) {
            await messages.wire.send(.text, Array(text.utf8))
        }
        let deadline = target.deadline()
        while true {
            switch await messages.next(until: deadline, { try coding.decode($0) }) {
            case .success(.packet(let packet)) where packet.kind == .connect:
                view.connectedMs = start.duration(to: .now).ms
                // A server that needs no request speaks the older version, whatever the URL says.
                if packet.json.isEmpty { view.version = SocketIOVersion.v4.engine }
                view.recovers = (try? Value(json: packet.json))?["pid"] != nil
                return view
            case .success(.packet(let packet)) where packet.kind == .connectError:
                view.refusal = StepRefusal(text: SocketIORefusal(json: packet.json).message)
                return view
            case .success(.ping): await messages.wire.send(.text, Array("3".utf8))
            case .success: break
            case .failure(let refusal):
                view.refusal = refusal
                return view
            }
        }
    }
}

extension Diagnosis {
    static func engineIO(_ seen: Observations) -> [Finding] {
        guard let view = seen.engineIO else { return [] }
        var findings = [
            Finding(
                .engineIO, "spoken", .good,
                view.version == SocketIOVersion.v4.engine
                    ? "it speaks Engine.IO 3: a client has to ping every \(view.pingIntervalMs.msPhrase)"
                    : "it speaks Engine.IO 4: it pings every \(view.pingIntervalMs.msPhrase), and waits \(view.pingTimeoutMs.msPhrase) for the answer"
            )
        ]
        if view.version == SocketIOVersion.v4.engine {
            findings.append(
                Finding(
                    .engineIO, "old", .note, "it is of Socket.IO 1 or 2, whose clients speak protocol 4",
                    advice: "set SocketIOOptions.version to .v4, or use holdfast socketio … --protocol 4"))
        }
        if seen.upgrade?.failure != nil {
            findings.append(
                Finding(
                    .engineIO, "query", .note, "it upgrades only with a query that names the version",
                    advice: "examine it with ?EIO=4&transport=websocket at the end of the URL; a Socket.IO client adds that"))
        }
        if let limit = view.maxPayload {
            findings.append(Finding(.engineIO, "limit", .good, "it accepts messages of up to \(limit.bytesPhrase)"))
        }
        if let refusal = view.refusal {
            findings.append(
                Finding(
                    .engineIO, "refused", .note, "it refuses the namespace / without a payload: \(refusal)",
                    advice: "if it wants a token, give the client a payload: holdfast socketio connect … --auth '{\"token\":\"…\"}'"))
        } else if let time = view.connectedMs {
            findings.append(Finding(.engineIO, "connected", .good, "it accepted the namespace / in \(time.msPhrase)"))
            // The older protocol has no recovery.
            guard view.version != SocketIOVersion.v4.engine else { return findings }
            findings.append(
                view.recovers
                    ? Finding(.engineIO, "recovers", .good, "it sends events again that were missed in a short gap")
                    : Finding(
                        .engineIO, "noRecovery", .note, "it does not send events again that were missed in a gap",
                        advice:
                            "let the app fetch what it missed when it is told of a gap, or enable connection state recovery in the server"))
        }
        return findings
    }
}
