import CodecCore
package import MachineCore
package import ProtocolCore
import WebSocketCore

/// The times and limits of a client.
package struct SocketIOPolicy: Hashable, Sendable {
    /// The protocol that the server speaks.
    package var version = SocketIOVersion.v5
    /// How long the server may take for its first message, to accept a namespace, and for the byte strings of a packet.
    package var acknowledgement = Duration.seconds(20)
    /// How often in a row a server may refuse a namespace.
    package var refusals = 3
    /// The pauses after refusals.
    package var backoff = Backoff()
    /// How many events of a namespace may wait, and how many bytes they may take.
    package var (emitLimit, emitBytes) = (10_000, 16 << 20)
    /// How many events of the server may wait for an answer of the app.
    package var answerLimit = 10_000
    /// How many byte strings a packet of the server may have, and how many bytes it may take.
    package var (attachmentLimit, packetBytes) = (1_000, 64 << 20)
    /// The seed of the jitter.
    package var seed: UInt64 = 0

    package init() {}
}

/// An event of the server.
package struct SocketIOMessage: Hashable, Sendable {
    package let name: String
    package let arguments: SocketIOArguments
    /// The number of the acknowledgement that the server wants; nil if it wants none.
    package let id: Int?
    /// The session of the namespace to which the number belongs.
    package let session: Int
}

/// The rules of a Socket.IO client (Socket.IO protocol 5 over Engine.IO protocol 4, or 4 over 3), on any number of connections.
///
/// In protocol 5 the server pings, and this side answers; in protocol 4 this side pings. A namespace is asked for on every connection.
/// An event that the connection has not taken is sent on the next one. An event that waits for its acknowledgement is not sent twice
/// unless the app wants it.
package struct SocketIOMachine: ProtocolMachine, Hashable {
    package typealias Greeting = NoGreeting
    package typealias Received = SocketIOReply
    package typealias Sent = SocketIORequest
    package typealias Input = ProtocolInput<Self>
    package typealias Effect = ProtocolEffect<Self>

    /// A command of the app.
    package enum Command: Hashable, Sendable {
        /// Uses a namespace, until `leave`. `hasPayload`: the app gives a payload for each attempt.
        case join(RequestID, String, hasPayload: Bool)
        /// Ends one use of a namespace.
        case leave(RequestID, String)
        /// Gives the payload that the event `payloadNeeded` asked for.
        case authenticate(String, payload: [UInt8]?)
        /// There is no payload. `isFinal`: asking again cannot help.
        case noPayload(String, reason: String, isFinal: Bool)
        /// Asks for a namespace again that was left or refused.
        case connect(String)
        /// Leaves a namespace until `connect`.
        case disconnect(String)
        /// Wants the events with this name, or all.
        case listen(RequestID, String, event: String?)
        case unlisten(RequestID, String, event: String?)
        /// Sends an event. Its wait for the connection, and for the acknowledgement, ends after `patience`.
        case emit(SocketIOEmit, patience: Duration?)
        case cancel(RequestID, String)
        /// Answers an event of the server.
        case answer(String, id: Int, session: Int, SocketIOArguments)
    }

    /// Why an event was not delivered.
    package enum Failure: Error, Hashable, Sendable {
        case timedOut(mayHaveArrived: Bool)
        /// The connection was lost before the acknowledgement.
        case lost
        /// The namespace was left.
        case disconnected
        case refused(SocketIORefusal)
        /// A volatile event without a connection.
        case dropped
        case tooMany
        /// The event is larger than the server accepts.
        case tooLarge(Int)
    }

    /// News for one request of the app.
    package struct Event: ProtocolEvent, Hashable {
        package enum Content: Hashable, Sendable {
            /// The state of the namespace has changed.
            case changed
            /// The app is asked for a payload.
            case payloadNeeded
            case message(SocketIOMessage)
            /// Events may be missing, because there was no session for this long.
            case gap(Duration)
            /// The connection has taken the event.
            case written
            case acknowledged(SocketIOArguments)
            case failed(Failure)
        }
        package let request: RequestID?
        package let content: Content
        package let isLast: Bool

        package init(request: RequestID, content: Content, isLast: Bool) {
            (self.request, self.content, self.isLast) = (request, content, isLast)
        }
    }

    private enum Phase: Hashable, Sendable {
        /// No connection, or one that this side has ended.
        case away
        /// The server's first message is due.
        case opening(due: Moment)
        case open(EngineHandshake)
    }
    /// A packet whose byte strings are still coming.
    private struct Assembly: Hashable, Sendable {
        var packet: SocketIOPacket
        var arguments: SocketIOArguments
        var due: Moment
    }

    /// Protocol 4: how far the namespace `/` is, which the server connects on its own.
    private enum Root: Hashable, Sendable {
        case awaited, connected
        /// It was left. The server connects it again if it is asked.
        case left
    }

    private let policy: SocketIOPolicy
    private var phase = Phase.away
    private var root = Root.awaited
    private var namespaces: [String: SocketIONamespace] = [:]
    private var heartbeat: MessageHeartbeat?
    /// Protocol 4: when the next ping is due.
    private var pingAt: Moment?
    private var assembly: Assembly?
    private var isPaused = false
    private var random: SplitMix64

    package init(_ policy: SocketIOPolicy = SocketIOPolicy()) { (self.policy, random) = (policy, SplitMix64(seed: policy.seed)) }

    /// The state of a namespace, and a version that changes with it; nil if the app does not use it.
    package func state(of namespace: String) -> (state: SocketIONamespace.State, version: UInt64)? {
        namespaces[namespace].map { ($0.state, $0.version) }
    }

    // MARK: - Inputs

    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .opened: (phase, isPaused, assembly) = (.opening(due: now + policy.acknowledgement), false, nil)
        case .lost(let unsent, close: _): lose(unsent: unsent, at: now, into: &effects)
        case .received(let reply):
            guard phase != .away else { break }  // The client has ended the connection.
            heartbeat?.heard(at: now)
            do throws(CodecError) { try receive(reply, at: now, into: &effects) } catch { reject("\(error)", into: &effects) }
        case .undecodable(let reason): if phase != .away { reject(reason, into: &effects) }
        case .paused:
            isPaused = true
            heartbeat?.stop()
        case .resumed:
            isPaused = false
            guard phase != .away else { break }
            heartbeat?.heard(at: now)
            if case .opening = phase { phase = .opening(due: now + policy.acknowledgement) }
            assembly?.due = now + policy.acknowledgement
        case .command(let command): perform(command, at: now, into: &effects)
        }
    }

    package var deadline: Moment? {
        var own: Moment?
        if !isPaused {
            own = .earliest(heartbeat?.deadline, assembly?.due)
            if case .opening(let due) = phase { own = .earliest(own, due) }
        }
        own = .earliest(own, pingAt)
        let isOpen = handshake != nil
        return namespaces.values.reduce(own) { .earliest($0, $1.deadline(isOpen: isOpen)) }
    }

    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        // The server waits for pings even while nothing is read.
        if let due = pingAt, now >= due, let handshake {
            pingAt = now + handshake.pingInterval
            effects.append(.send(.ping))
        }
        if !isPaused {
            if case .opening(let due) = phase, now >= due { reject("the server sent no first message in time", into: &effects) }
            if let assembly, now >= assembly.due { reject("the byte strings of a packet did not come in time", into: &effects) }
            if heartbeat?.wake(at: now) == .dead {
                let missing = policy.version == .v4 ? "answered" : "sent"
                leave(.cut(reason: "the server \(missing) no ping in time"), into: &effects)
            }
        }
        let handshake = handshake
        for name in namespaces.keys.sorted() {
            switch namespaces[name]?.state {
            case .connecting(let due)? where now >= due && handshake != nil:
                if isPaused {
                    namespaces[name]?.postpone(at: now)
                } else {
                    reject("the server did not answer for the namespace \(name) in time", into: &effects)
                }
            case .pausing(let until, _)? where now >= until && handshake != nil: begin(name, at: now, into: &effects)
            default: break
            }
            namespaces[name]?.wake(handshake, at: now, into: &effects)
        }
    }

    private var handshake: EngineHandshake? { if case .open(let handshake) = phase { handshake } else { nil } }

    // MARK: - The connection

    private mutating func lose(unsent: [Sent], at now: Moment, into effects: inout [Effect]) {
        (phase, isPaused, assembly) = (.away, false, nil)
        (heartbeat, pingAt) = (nil, nil)
        var emits: [String: [SocketIOEmit]] = [:]
        // The server cannot use an event that lacks a byte string.
        var incomplete: Set<RequestID> = []
        for message in unsent {
            switch message {
            case .event(let emit, _): emits[emit.namespace, default: []].append(emit)
            case .attachment(_, of: let id?): incomplete.insert(id)
            default: break
            }
        }
        for name in namespaces.keys.sorted() {
            namespaces[name]?.lose(unsent: emits[name] ?? [], incomplete: incomplete, at: now, into: &effects)
        }
    }

    private mutating func reject(_ reason: String, into effects: inout [Effect]) {
        leave(.reject(.protocolError, reason: reason), into: &effects)
    }

    /// Ends the connection; later messages from it do not count.
    private mutating func leave(_ end: ConnectionEnd, into effects: inout [Effect]) {
        (phase, assembly) = (.away, nil)
        (heartbeat, pingAt) = (nil, nil)
        effects.append(.end(end))
    }

    private mutating func receive(_ reply: SocketIOReply, at now: Moment, into effects: inout [Effect]) throws(CodecError) {
        switch (reply, phase) {
        case (.opened(let handshake), .opening):
            (phase, root) = (.open(handshake), .awaited)
            if policy.version == .v4 { pingAt = now + handshake.pingInterval }
            heartbeat = MessageHeartbeat(pingAfter: nil, patience: handshake.pingInterval + handshake.pingTimeout)
            if !isPaused { heartbeat?.heard(at: now) }
            for name in namespaces.keys.sorted() where namespaces[name]?.isActive == true {
                begin(name, at: now, into: &effects)
            }
        case (.closed, _): leave(.cut(reason: "the server ended the connection"), into: &effects)
        case (.ping, .open): effects.append(.send(.pong))
        case (.pong, _): break
        case (.packet(let packet), .open(let handshake)):
            guard assembly == nil else { throw CodecError(.malformed, at: 0) }
            let arguments = SocketIOArguments(json: packet.json)
            if packet.attachments == 0 { return try take(packet, arguments, handshake, at: now, into: &effects) }
            guard packet.attachments <= policy.attachmentLimit, arguments.size <= policy.packetBytes else {
                throw CodecError(.tooLarge, at: 0)
            }
            assembly = Assembly(packet: packet, arguments: arguments, due: now + policy.acknowledgement)
        case (.attachment(let bytes), .open(let handshake)):
            guard var whole = assembly else { throw CodecError(.malformed, at: 0) }
            assembly = nil
            whole.arguments.attachments.append(bytes)
            guard whole.arguments.size <= policy.packetBytes else { throw CodecError(.tooLarge, at: 0) }
            if whole.arguments.attachments.count < whole.packet.attachments {
                assembly = whole
            } else {
                try take(whole.packet, whole.arguments, handshake, at: now, into: &effects)
            }
        default: throw CodecError(.malformed, at: 0)
        }
    }

    private mutating func take(
        _ packet: SocketIOPacket, _ arguments: SocketIOArguments, _ handshake: EngineHandshake, at now: Moment, into effects: inout [Effect]
    ) throws(CodecError) {
        let name = packet.namespace
        if name == "/" { noteRoot(packet.kind) }
        if packet.kind == .connect, policy.version == .v5, packet.json.isEmpty {
            return reject("the server speaks Socket.IO protocol 4: set SocketIOOptions.version", into: &effects)
        }
        // The app may have left it meanwhile.
        guard namespaces[name] != nil else { return }
        switch packet.kind {
        case .connect:
            let value = packet.json.isEmpty ? Value.null : try Value(json: packet.json)
            guard let sid = value["sid"]?.string ?? (policy.version == .v4 ? handshake.sid : nil) else {
                throw CodecError(.malformed, at: 0)
            }
            accept(name, sid: sid, pid: value["pid"]?.string, handshake, at: now, into: &effects)
        case .connectError:
            refuse(name, SocketIORefusal(json: packet.json), at: now, into: &effects)
            effects.append(.ready)
        case .disconnect:
            namespaces[name]?.end(byServer: true, at: now, into: &effects)
        case .event, .binaryEvent: namespaces[name]?.receive(packet, arguments, into: &effects)
        case .acknowledgement, .binaryAcknowledgement:
            if let id = packet.id { namespaces[name]?.acknowledge(id, arguments, handshake, at: now, into: &effects) }
        }
    }

    private mutating func noteRoot(_ kind: SocketIOPacket.Kind) {
        switch kind {
        case .connect: root = .connected
        case .disconnect, .connectError: root = .left
        default: break
        }
    }

    /// Asks for a namespace on an open connection.
    private mutating func begin(_ name: String, at now: Moment, into effects: inout [Effect]) {
        guard policy.version == .v4, name == "/" else {
            namespaces[name]?.begin(at: now, into: &effects)
            return
        }
        namespaces[name]?.expect(at: now, into: &effects)
        if namespaces[name]?.hasPayload == true {
            let reason = "Socket.IO protocol 4 has no payload for the namespace /: use the URL's query or the headers"
            return refuse(name, SocketIORefusal(reason), isFinal: true, at: now, into: &effects)
        }
        switch (root, handshake) {
        case (.connected, let handshake?): accept(name, sid: handshake.sid, pid: nil, handshake, at: now, into: &effects)
        case (.left, _): effects.append(.send(.connect(name, payload: nil)))
        default: break  // The server's own message follows.
        }
    }

    private mutating func accept(
        _ name: String, sid: String, pid: String?, _ handshake: EngineHandshake, at now: Moment, into effects: inout [Effect]
    ) {
        namespaces[name]?.accept(sid: sid, pid: pid, handshake, at: now, into: &effects)
        effects.append(.ready)
    }

    private mutating func disconnect(_ name: String, into effects: inout [Effect]) {
        if name == "/" { root = .left }
        effects.append(.send(.disconnect(name)))
    }

    private mutating func refuse(
        _ name: String, _ refusal: SocketIORefusal, isFinal: Bool = false, at now: Moment, into effects: inout [Effect]
    ) {
        let pause = policy.backoff.delay(attempt: (namespaces[name]?.refusalCount ?? 0) + 1, using: &random)
        namespaces[name]?.refuse(refusal, pause: pause, isFinal: isFinal, at: now, into: &effects)
    }

    // MARK: - Commands

    private mutating func perform(_ command: Command, at now: Moment, into effects: inout [Effect]) {
        let handshake = handshake
        switch command {
        case .join(let id, let name, let hasPayload): join(id, name, hasPayload: hasPayload, at: now, into: &effects)
        case .leave(let id, let name):
            guard namespaces[name]?.leave(id, at: now, into: &effects) == true, var namespace = namespaces.removeValue(forKey: name) else {
                break
            }
            if namespace.isConnected { disconnect(name, into: &effects) }
            namespace.failAll(.disconnected, into: &effects)
        case .authenticate(let name, let payload):
            if namespaces[name]?.state == .asking, handshake != nil {
                namespaces[name]?.connect(payload: payload, at: now, into: &effects)
            }
        case .noPayload(let name, let reason, let isFinal):
            if namespaces[name]?.state == .asking { refuse(name, SocketIORefusal(reason), isFinal: isFinal, at: now, into: &effects) }
        case .connect(let name):
            guard namespaces[name]?.isActive == false else { break }
            namespaces[name]?.revive(into: &effects)
            if handshake != nil { begin(name, at: now, into: &effects) }
        case .disconnect(let name):
            if namespaces[name]?.isConnected == true { disconnect(name, into: &effects) }
            namespaces[name]?.end(byServer: false, at: now, into: &effects)
        case .listen(let id, let name, let event): namespaces[name]?.listen(id, to: event, into: &effects)
        case .unlisten(let id, let name, let event): namespaces[name]?.unlisten(id, to: event)
        case .emit(let emit, let patience):
            guard namespaces[emit.namespace] != nil else {
                return effects.append(.event(Event(request: emit.id, content: .failed(.disconnected), isLast: true)))
            }
            namespaces[emit.namespace]?.emit(emit, due: patience.map { now + $0 }, handshake, at: now, into: &effects)
        case .cancel(let id, let name): namespaces[name]?.cancel(id, handshake, at: now, into: &effects)
        case .answer(let name, let id, let session, let arguments): namespaces[name]?.answer(id, of: session, arguments, into: &effects)
        }
    }

    private mutating func join(_ id: RequestID, _ name: String, hasPayload: Bool, at now: Moment, into effects: inout [Effect]) {
        let isNew = namespaces[name] == nil
        namespaces[name, default: SocketIONamespace(name, policy)].join(id, hasPayload: hasPayload)
        if isNew, handshake != nil { begin(name, at: now, into: &effects) }
    }
}
