public import Observation
public import RoomCore

/// The view model of a room: its messages with their delivery states, the people present and typing, and the connection state.
///
/// ```swift
/// @State private var chat = ChatModel(room)
/// var body: some View { ChatView(chat) }
/// ```
///
/// The model changes on the main actor. It shows the stored messages without a connection, and keeps the room alive as long as the model
/// lives.
/// In long chats it keeps the last 2000 messages, plus those loaded with ``loadEarlier()``. It drops older messages as new ones arrive;
/// they can be loaded again.
@MainActor @Observable public final class ChatModel: ChatPresenting {
    /// The number of messages shown at first; older ones are loaded on request.
    private static let window: Int64 = 200
    /// The number of stored messages to keep, not counting those loaded with ``loadEarlier()``.
    private static let limit = 2000

    /// The room's name.
    public let title: String
    /// The messages in order; those that wait in the outbox come last.
    public private(set) var messages: [ChatMessage] = []
    /// The people present, sorted by name; the own user is among them, and is marked.
    public private(set) var people: [ChatPerson] = []
    /// The users who are typing.
    public private(set) var typing: [UserName] = []
    /// The state of the connection to the hub.
    public private(set) var connection = ChatConnection.connecting
    /// The number of loaded messages of other users that are unread.
    public private(set) var unread = 0
    /// Whether there are older messages to load.
    public private(set) var hasEarlier = false
    /// Whether older messages are being loaded.
    public private(set) var isLoadingEarlier = false
    /// The full status of the room.
    public private(set) var status = RoomStatus()
    /// The last problem, as a text for the user; nil if there is none, or if it was dismissed.
    public var problem: String?
    /// The text being written; while it is not empty, others see that the user is typing.
    public var draft = "" {
        didSet { if draft != oldValue { room.setTyping(!draft.isEmpty) } }
    }

    @ObservationIgnored private let room: Room
    @ObservationIgnored private var transcript = ChatTranscript()
    /// The number of stored messages to keep.
    @ObservationIgnored private var kept = ChatModel.limit
    /// The first sequence number that is loaded, once anything is loaded; older entries are in the store or on the hub.
    @ObservationIgnored private var oldest: Int64 = 1
    @ObservationIgnored private var hasBegun = false
    @ObservationIgnored private var reachedBeginning = false
    @ObservationIgnored private var state = RoomsState.connecting
    @ObservationIgnored private var isRefreshDue = false
    @ObservationIgnored private var following: [Task<Void, Never>] = []

    /// Follows a room until the model is released.
    public init(_ room: Room) {
        self.room = room
        title = room.name.text
        let status = room.status
        let start = max(status.first - 1, status.cursor.seq - Self.window)
        oldest = start + 1
        let messages = status.cursor == .nowhere ? room.messages : room.messages(after: LogPosition(epoch: status.cursor.epoch, seq: start))
        show(status)
        following = [
            // SAFETY: the model cancels the task when it is released, and the task holds the model weakly; the same is true of the other
            // two.
            Task { [weak self] in
                do {
                    for try await update in messages { self?.take(update) }
                } catch {
                    self?.problem = "\(error)"
                }
            },
            // SAFETY: the same.
            Task { [weak self] in for await status in room.statuses { self?.show(status) } },
            // SAFETY: the same.
            Task { [weak self, rooms = room.rooms] in for await state in rooms.states { self?.show(state) } },
        ]
    }

    deinit { for task in following { task.cancel() } }

    // MARK: - Updates

    private func take(_ update: RoomUpdate) {
        switch update {
        case .entry(let entry):
            if !hasBegun { (oldest, hasBegun) = (entry.seq, true) }
            transcript.take(entry)
            // Trims only when a quarter more than the limit is loaded, so that not every new entry moves all others.
            if transcript.count > kept + kept / 4 { letGo() }
        case .replaced:
            transcript = ChatTranscript(room.status, device: room.rooms.device)
            (oldest, hasBegun, reachedBeginning, kept) = (room.status.first, false, false, Self.limit)
        }
        refreshSoon()
    }

    private func letGo() {
        transcript.keep(kept)
        (oldest, reachedBeginning) = (transcript.first ?? oldest, false)
    }

    private func show(_ status: RoomStatus) {
        let old = self.status
        guard old != status else { return }
        self.status = status
        if !hasBegun, oldest < status.first {
            oldest = status.first
            refreshSoon()
        }
        let people = status.members.map { ChatPerson(user: $0.user, isOwn: $0.user == status.user) }
        if self.people != people { self.people = people }
        if typing != status.typing { typing = status.typing }
        if old.outbox != status.outbox || old.reads != status.reads || old.user != status.user || old.read != status.read { refreshSoon() }
        showConnection()
    }

    private func show(_ state: RoomsState) {
        self.state = state
        showConnection()
    }

    private func showConnection() {
        let connection: ChatConnection =
            switch (state, status.phase) {
            case (.closed(let error), _): .closed(error.map { "\($0)" })
            case (_, .refused(let refusal)): .closed(refusal.text)
            case (_, .left): .closed(nil)
            case (_, .live): .live
            case (.offline, _): .offline
            default: .connecting
            }
        if self.connection != connection { self.connection = connection }
    }

    /// Schedules one refresh for all changes that arrive before the main actor runs the next task.
    private func refreshSoon() {
        guard !isRefreshDue else { return }
        isRefreshDue = true
        // SAFETY: runs once and immediately, and holds the model weakly.
        Task { [weak self] in self?.refresh() }
    }

    private func refresh() {
        isRefreshDue = false
        // Uses the room's current status: the status shown last may belong to the previous log.
        transcript.show(room.status, device: room.rooms.device)
        let messages = transcript.messages
        if self.messages != messages { self.messages = messages }
        if unread != transcript.unread { unread = transcript.unread }
        let hasEarlier = oldest > 1 && !reachedBeginning
        if self.hasEarlier != hasEarlier { self.hasEarlier = hasEarlier }
    }

    // MARK: - User actions

    /// Sends the draft; it appears in ``messages`` at once, and is restored as the draft if the room did not accept it.
    public func send() async {
        let text = draft
        guard text.contains(where: { !$0.isWhitespace }) else { return }
        draft = ""
        do throws(RoomsError) {
            try await room.send(ChatText(text))
        } catch {
            problem = "\(error)"
            show(room.status)
            switch error {
            // The message may be in the outbox.
            case .cancelled, .timedOut: break
            default: if draft.isEmpty { draft = text }
            }
        }
    }

    /// Loads older messages.
    public func loadEarlier() async {
        guard hasEarlier, !isLoadingEarlier else { return }
        isLoadingEarlier = true
        defer { isLoadingEarlier = false }
        await attempt {
            let before = oldest
            let page = try await room.earlier(than: before)
            guard oldest == before else { return }  // The log was replaced meanwhile.
            transcript.take(earlier: page.entries)
            (kept, hasBegun) = (max(kept, transcript.count), true)
            oldest = page.entries.first?.seq ?? oldest
            reachedBeginning = page.reachedBeginning || page.entries.isEmpty
            refresh()
        }
    }

    /// Marks all messages as read.
    public func markRead() { room.readUpTo(status.cursor.seq) }

    /// Sends a failed message again.
    public func retry(_ message: ChatMessage) {
        do { try room.rooms.retry(message.messageID) } catch { problem = "\(error)" }
    }

    /// Discards a message that is not stored yet.
    public func discard(_ message: ChatMessage) {
        do { try room.rooms.discard(message.messageID) } catch { problem = "\(error)" }
    }

    /// Replaces the text of a message.
    public func edit(_ message: ChatMessage, to text: String) async {
        guard let seq = message.seq else { return }
        await attempt { _ = try await room.edit(seq, to: ChatText(text)) }
    }

    /// Deletes a message.
    public func delete(_ message: ChatMessage) async {
        guard let seq = message.seq else { return }
        await attempt { _ = try await room.delete(seq) }
    }

    /// Sets the own reaction to a message, or removes it if it is set.
    public func react(to message: ChatMessage, _ key: String) async {
        guard let seq = message.seq else { return }
        let isSet = message.reactions.contains { $0.key == key && $0.isOwn }
        await attempt { _ = try await room.react(to: seq, key, on: !isSet) }
    }

    private func attempt(_ body: () async throws -> Void) async {
        do { try await body() } catch { problem = "\(error)" }
    }
}
