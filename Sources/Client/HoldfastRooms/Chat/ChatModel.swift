public import Observation
public import RoomCore

/// A room for views: its messages with what has become of the own ones, who is there and types, and how the connection is.
///
/// ```swift
/// @State private var chat = ChatModel(room)
/// var body: some View { ChatView(chat) }
/// ```
///
/// It changes on the main actor, shows what is stored without a connection, and keeps the room alive as long as it lives itself.
@MainActor @Observable public final class ChatModel: ChatPresenting {
    /// Messages that are shown at first; older ones are loaded when they are asked for.
    private static let window: Int64 = 200

    /// The room's name.
    public let title: String
    /// The messages in order, those that wait last.
    public private(set) var messages: [ChatMessage] = []
    /// Who is present, by name.
    public private(set) var people: [UserName] = []
    /// Who types.
    public private(set) var typing: [UserName] = []
    /// How it stands with the hub.
    public private(set) var connection = ChatConnection.connecting
    /// How many of the messages of others that are loaded were not read.
    public private(set) var unread = 0
    /// Whether there are older messages to load.
    public private(set) var hasEarlier = false
    /// Whether older messages are being loaded.
    public private(set) var isLoadingEarlier = false
    /// Everything else that is known of the room.
    public private(set) var status = RoomStatus()
    /// What went wrong last, for people; nil: nothing, or it was put away.
    public var problem: String?
    /// What is being written; others see that somebody types.
    public var draft = "" {
        didSet { if draft != oldValue { room.setTyping(!draft.isEmpty) } }
    }

    @ObservationIgnored private let room: Room
    @ObservationIgnored private var timeline = Timeline()
    /// The first number that is loaded; older ones are in the store or on the hub.
    @ObservationIgnored private var oldest: Int64 = 1
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
            // SAFETY: cancelled with the model, and holds it weakly; so do the others.
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

    // MARK: - What happens

    private func take(_ update: RoomUpdate) {
        switch update {
        case .entry(let entry): timeline.apply(entry)
        case .replaced:
            timeline = Timeline()
            (oldest, reachedBeginning) = (room.status.first, false)
        }
        refreshSoon()
    }

    private func show(_ status: RoomStatus) {
        let old = self.status
        guard old != status else { return }
        self.status = status
        let people = status.members.map(\.user)
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

    /// Shows what is new once for all that comes before somebody else has his turn.
    private func refreshSoon() {
        guard !isRefreshDue else { return }
        isRefreshDue = true
        // SAFETY: runs once and at once, and holds the model weakly.
        Task { [weak self] in self?.refresh() }
    }

    private func refresh() {
        isRefreshDue = false
        let user = status.user
        let reads = status.reads.filter { $0.key != user }.values.sorted()
        let stored = timeline.map { message -> ChatMessage in
            var shown = ChatMessage(message, user: user, device: room.rooms.device)
            if shown.isOwn {
                let readers = reads.count - (reads.firstIndex { $0 >= message.original.seq } ?? reads.count)
                shown.delivery = readers > 0 ? .seen(readers) : .stored
            }
            return shown
        }
        let ids = Set(stored.map(\.id))
        let waiting = status.outbox.filter { !ids.contains($0.id) }.compactMap { ChatMessage($0, user: user) }
        let messages = stored + waiting
        if self.messages != messages { self.messages = messages }
        let unread = stored.count { !$0.isOwn && !$0.isDeleted && $0.seq ?? 0 > status.read }
        if self.unread != unread { self.unread = unread }
        let hasEarlier = oldest > 1 && !reachedBeginning
        if self.hasEarlier != hasEarlier { self.hasEarlier = hasEarlier }
    }

    // MARK: - What the user does

    /// Sends what was written; it is in ``messages`` at once.
    public func send() async {
        let text = draft
        guard text.contains(where: { !$0.isWhitespace }) else { return }
        draft = ""
        await attempt { _ = try await room.send(ChatText(text)) }
    }

    /// Loads older messages.
    public func loadEarlier() async {
        guard hasEarlier, !isLoadingEarlier else { return }
        isLoadingEarlier = true
        defer { isLoadingEarlier = false }
        await attempt {
            let before = oldest
            let page = try await room.earlier(than: before)
            guard oldest == before else { return }  // It was replaced meanwhile.
            timeline.apply(page.entries)
            oldest = page.entries.first?.seq ?? oldest
            reachedBeginning = page.reachedBeginning || page.entries.isEmpty
            refresh()
        }
    }

    /// Says that the user sees the last message.
    public func markRead() { room.readUpTo(status.cursor.seq) }

    /// Sends a failed message after all.
    public func retry(_ message: ChatMessage) {
        do { try room.rooms.retry(message.id) } catch { problem = "\(error)" }
    }

    /// Gives up a message that is not stored.
    public func discard(_ message: ChatMessage) {
        do { try room.rooms.discard(message.id) } catch { problem = "\(error)" }
    }

    /// Changes what a message says.
    public func edit(_ message: ChatMessage, to text: String) async {
        guard let seq = message.seq else { return }
        await attempt { _ = try await room.edit(seq, to: ChatText(text)) }
    }

    /// Deletes a message.
    public func delete(_ message: ChatMessage) async {
        guard let seq = message.seq else { return }
        await attempt { _ = try await room.delete(seq) }
    }

    /// Sets the own reaction to a message, or takes it back if it is set.
    public func react(to message: ChatMessage, _ key: String) async {
        guard let seq = message.seq else { return }
        let isSet = message.reactions.contains { $0.key == key && $0.isOwn }
        await attempt { _ = try await room.react(to: seq, key, on: !isSet) }
    }

    private func attempt(_ body: () async throws -> Void) async {
        do { try await body() } catch { problem = "\(error)" }
    }
}

extension ChatMessage {
    /// A message that waits; nil if there is nothing of it to see.
    fileprivate init?(_ waiting: PendingMessage, user: UserName?) {
        let isRemark = waiting.content.type.hasPrefix("holdfast.")
        let delivery: ChatDelivery
        switch waiting.stage {
        case .submitted, .queued: delivery = .queued
        case .sent: delivery = .sent
        case .stored, .seen: delivery = .stored
        case .failed(let failure): delivery = .failed(failure.text)
        case .discarded: return nil
        }
        // An edit or a reaction shows where it is made, once it is stored; one that failed has to be retried or discarded somewhere.
        if isRemark, case .failed = delivery {} else if isRemark { return nil }
        let content = waiting.content
        let text = isRemark ? String(content.type.dropFirst("holdfast.".count)) : Self.text(content.type, content.payload)
        self.init(id: waiting.id, seq: nil, user: user, isOwn: true, text: text, at: waiting.sent)
        self.delivery = delivery
    }

    /// A message that is stored, with what was said about it.
    fileprivate init(_ message: Timeline.Message, user: UserName?, device: DeviceID?) {
        let original = message.original
        self.init(
            id: original.id, seq: original.seq, user: original.user, isOwn: original.user == user || original.device == device,
            text: message.isDeleted ? "" : Self.text(original.type, message.payload), at: original.sent)
        (isEdited, isDeleted) = (message.isEdited, message.isDeleted)
        reactions = message.reactions.map { reaction in
            ChatReaction(key: reaction.key, users: reaction.users, isOwn: user.map(reaction.users.contains) ?? false)
        }
    }

    private static func text(_ type: String, _ payload: Payload) -> String {
        if type == ChatText.typeName, let text = try? payload.decode(ChatText.self) { return text.text }
        return "(\(type))"
    }
}
