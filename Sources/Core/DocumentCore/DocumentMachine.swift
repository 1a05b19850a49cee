public import MachineCore
public import ProtocolCore
import WebSocketCore

/// A copy of a document that stays equal to the copy of a y-websocket server, across reconnects.
///
/// On each connection both sides send their state vectors and answer with what the other lacks; after that, every edit is an update. The
/// protocol has no acknowledgements. A server handles messages in order, so its answer to a state vector proves that it has all updates
/// that were sent before; and the usual servers send each update back.
public struct DocumentMachine: ProtocolMachine {
    /// The messages of one WebSocket message.
    public typealias Received = [DocumentMessage]
    /// A message to the server.
    public typealias Sent = DocumentMessage
    /// What happens to the copy.
    public typealias Input = ProtocolInput<DocumentMachine>
    /// What the copy wants done.
    public typealias Effect = ProtocolEffect<DocumentMachine>

    /// A command of the app.
    public enum Command: Sendable {
        /// Edits the document. The closure runs at once.
        case edit(@Sendable (inout SharedDocument) -> Void)
        /// Sets the own state for the others: name, colour, caret; nil to leave.
        case present(DocumentValue?)
    }

    /// An event for the app.
    public enum Event: ProtocolEvent, Hashable {
        /// Others changed the document, or this copy did.
        case changed([DocumentChange])
        /// The states of others changed.
        case presence(DocumentAwareness.Change)
        /// Synchronizing or saving went on.
        case status(Status)
        /// The server refused access. The client stops.
        case denied(reason: String)

        /// None: each event is for all observers.
        public var request: RequestID? { nil }
        /// None is the last.
        public var isLast: Bool { false }
    }

    /// How far a copy is from the server's.
    public struct Status: Hashable, Sendable {
        /// Whether this copy has what the server had when the connection opened, and all updates since.
        public var isSynced = false
        /// Whether the server has all edits of this copy.
        public var isSaved = true
        /// Whether something waits for an update that has not come.
        public var isPending = false
    }

    /// The time after which a server that has not answered a state vector is dropped.
    public static let answerTime = Duration.seconds(10)
    /// The time after which a state vector asks what became of edits that the server did not send back, or of what waits.
    public static let askingTime = Duration.seconds(2)
    /// The most updates of which the echo is awaited by their bytes.
    ///
    /// Further ones wait for an answer to a state vector.
    static let maximumEchoes = 256

    /// The document.
    public private(set) var document: SharedDocument
    /// The states of all clients.
    public private(set) var awareness: DocumentAwareness
    /// How far this copy is from the server's.
    public private(set) var status = Status()

    private var isOpen = false
    /// Whether nothing is read now, so that the server's answer may be there already.
    private var isPaused = false
    /// The number of edits of this copy, and of those that the server has.
    private var (edits, savedEdits) = (0, 0)
    /// The state vectors that have no answer yet: how many edits came before each, and when it was sent.
    private var questions: [(edits: Int, sent: Moment)] = []
    /// The updates that were sent and did not come back, each with the number of its edit.
    private var echoes: [(edit: Int, update: [UInt8])] = []
    /// When to ask again.
    private var asking: Moment?
    private var random: UInt64

    /// Creates a copy that is not connected.
    ///
    /// - Parameters:
    ///   - document: The copy as it was stored, with a fresh identity, or an empty one.
    ///   - seed: A random number, for a new identity if another copy has the same.
    public init(_ document: SharedDocument, seed: UInt64) {
        random = seed
        self.document = document
        self.document.observesChanges = true
        awareness = DocumentAwareness(client: document.client)
        // What was edited before is in the answer to the server's state vector.
        edits = document.blockCount > 0 ? 1 : 0
        status.isSaved = edits == 0
    }

    // MARK: - Machine

    /// Handles a connection, messages of the server, and commands of the app.
    public mutating func handle(_ input: Input, at moment: Moment, into effects: inout [Effect]) {
        switch input {
        case .opened:
            (isOpen, isPaused) = (true, false)
            ask(at: moment, &effects)
            if awareness.states[document.client] != nil { effects.append(.send(.awareness(awareness.update(of: [document.client])))) }
        case .lost:
            isOpen = false
            (questions, echoes, asking) = ([], [], nil)
            status.isSynced = false
            let change = awareness.disconnect()
            if !change.removed.isEmpty { effects.append(.event(.presence(change))) }
            effects.append(.event(.status(status)))
        case .received(let messages): receive(messages, at: moment, &effects)
        case .undecodable(let reason): effects.append(.end(.reject(.protocolError, reason: reason)))
        case .paused: isPaused = true
        case .resumed:
            isPaused = false
            for index in questions.indices { questions[index].sent = moment }
        case .command(.edit(let edit)):
            edit(&document)
            committed(document.commit(), at: moment, &effects)
        case .command(.present(let state)):
            let update = awareness.set(state, at: moment)
            if isOpen { effects.append(.send(.awareness(update))) }
        }
    }

    /// When ``wake(at:into:)`` has something to do.
    public var deadline: Moment? {
        guard isOpen else { return awareness.states.count > 1 ? awareness.deadline : nil }
        return Moment.earliest(awareness.deadline, asking, answerDeadline)
    }

    private var answerDeadline: Moment? { isPaused ? nil : questions.first.map { $0.sent + Self.answerTime } }

    /// Renews the own state, drops who gives no sign, and asks again what has no answer.
    public mutating func wake(at moment: Moment, into effects: inout [Effect]) {
        let change = awareness.wake(at: moment)
        if isOpen, let update = change.answer { effects.append(.send(.awareness(update))) }
        if !change.removed.isEmpty { effects.append(.event(.presence(change))) }
        if let answerDeadline, answerDeadline <= moment {
            questions = []
            effects.append(.end(.cut(reason: "no answer to a state vector in \(Self.answerTime.words)")))
        } else if let asking, asking <= moment {
            self.asking = nil
            if isOpen, questions.isEmpty { ask(at: moment, &effects) }
        }
    }

    // MARK: - Messages

    private mutating func receive(_ messages: [DocumentMessage], at moment: Moment, _ effects: inout [Effect]) {
        for message in messages {
            do throws(DocumentError) {
                switch message {
                case .sync(.stateVector(let vector)):
                    effects.append(.send(.sync(.missing(try document.update(since: vector)))))
                    // The answer has all edits. Whether the server has it is known when it answers this.
                    if savedEdits < edits { ask(at: moment, &effects) }
                case .sync(.missing(let update)):
                    try apply(update, at: moment, &effects)
                    answered(at: moment, &effects)
                case .sync(.update(let update)):
                    try apply(update, at: moment, &effects)
                    if let index = echoes.firstIndex(where: { $0.update == update }) {
                        saved(echoes[index].edit, &effects)
                    }
                case .awareness(let update):
                    let change = try awareness.apply(update, at: moment)
                    if let answer = change.answer { effects.append(.send(.awareness(answer))) }
                    if change != DocumentAwareness.Change(answer: change.answer) { effects.append(.event(.presence(change))) }
                case .awarenessQuery: effects.append(.send(.awareness(awareness.update())))
                case .denied(let reason):
                    effects.append(.event(.denied(reason: reason)))
                    effects.append(.end(.stop))
                // Messages of Hocuspocus, which the coding of y-websocket does not read.
                case .token, .tokenQuery, .authenticated, .reply, .text, .closed, .status, .ping, .pong: break
                }
            } catch {
                return effects.append(.end(.reject(.protocolError, reason: "\(error)")))
            }
        }
    }

    private mutating func apply(_ update: [UInt8], at moment: Moment, _ effects: inout [Effect]) throws(DocumentError) {
        try document.apply(update)
        if !document.changes.isEmpty { effects.append(.event(.changed(document.changes))) }
        if document.isClientTaken { rename(at: moment, &effects) }
        guard document.isPending != status.isPending else { return }
        status.isPending = document.isPending
        if status.isPending { askSoon(at: moment) }
        effects.append(.event(.status(status)))
    }

    /// Takes a new identity of 32 random bits, because another copy edits under this one.
    private mutating func rename(at moment: Moment, _ effects: inout [Effect]) {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        document.rename(to: random >> 32)
        let state = awareness.states[awareness.client]
        awareness = awareness.renamed(to: document.client)
        guard let state else { return }
        let update = awareness.set(state, at: moment)
        if isOpen { effects.append(.send(.awareness(update))) }
    }

    private mutating func committed(_ update: [UInt8]?, at moment: Moment, _ effects: inout [Effect]) {
        guard let update else { return }
        edits += 1
        if !document.changes.isEmpty { effects.append(.event(.changed(document.changes))) }
        if status.isSaved {
            status.isSaved = false
            effects.append(.event(.status(status)))
        }
        // Before the server's state vector has come, its answer takes the edit along; afterwards each edit goes by itself. Twice does no harm.
        guard isOpen else { return }
        effects.append(.send(.sync(.update(update))))
        if echoes.count < Self.maximumEchoes { echoes.append((edits, update)) }
        askSoon(at: moment)
    }

    private mutating func ask(at moment: Moment, _ effects: inout [Effect]) {
        effects.append(.send(.sync(.stateVector(document.stateVector))))
        questions.append((edits, moment))
    }

    private mutating func askSoon(at moment: Moment) { if asking == nil { asking = moment + Self.askingTime } }

    private mutating func answered(at moment: Moment, _ effects: inout [Effect]) {
        // A server may send what is missing without being asked.
        guard !questions.isEmpty else { return }
        let question = questions.removeFirst()
        if !status.isSynced {
            status.isSynced = true
            effects.append(.ready)
            effects.append(.event(.status(status)))
            // Edits from before the connection are there when the server has answered a question that followed them.
            return
        }
        saved(question.edits, &effects)
        if document.isPending || savedEdits < edits { askSoon(at: moment) }
    }

    private mutating func saved(_ edit: Int, _ effects: inout [Effect]) {
        guard edit > savedEdits else { return }
        savedEdits = edit
        echoes.removeAll { $0.edit <= edit }
        guard savedEdits == edits else { return }
        if !document.isPending { asking = nil }
        status.isSaved = true
        effects.append(.event(.status(status)))
    }
}
