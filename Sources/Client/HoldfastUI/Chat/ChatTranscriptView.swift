#if Rooms && canImport(SwiftUI)
    import HoldfastRooms
    import RoomCore
    import SwiftUI

    /// The list of messages with their days, scrolled to the last one.
    struct ChatTranscript<Model: ChatPresenting>: View {
        let model: Model
        let words: Words
        let names: ChatNames
        @ScaledMetric private var inset = 8.0

        var body: some View {
            ScrollViewReader { reader in
                ScrollView {
                    LazyVStack(alignment: .leading, spacing: inset / 2) {
                        if model.hasEarlier {
                            // SAFETY: ends with the page, which has a deadline.
                            Button(words(.loadEarlier)) { Task { await model.loadEarlier() } }
                                .disabled(model.isLoadingEarlier)
                        }
                        ForEach(ChatLine.lines(for: model.messages, ChatTime.calendar)) { line in
                            switch line {
                            case .day(let time, _): ChatDay(time: time, words: words)
                            case .message(let message, let isFirst, let isLast):
                                ChatRow(model: model, message: message, words: words, names: names, isFirst: isFirst, isLast: isLast)
                            }
                        }
                    }
                    .padding(inset)
                }
                .onChange(of: model.messages.last?.id) { _, last in
                    if let last { reader.scrollTo(ChatLine.ID.message(last)) }
                    model.markRead()
                }
            }
        }
    }

    /// The heading with the day of the messages below; it updates at midnight.
    struct ChatDay: View {
        let time: Int64
        let words: Words
        @ScaledMetric private var inset = 8.0

        var body: some View {
            TimelineView(.everyMinute) { context in
                Text(verbatim: ChatTime.day(time, at: context.date, words)).font(.caption).foregroundStyle(.secondary)
            }
            .padding(inset)
            .frame(maxWidth: .infinity, alignment: .center)
            .accessibilityAddTraits(.isHeader)
        }
    }

    /// The view of one message.
    struct ChatRow<Model: ChatPresenting>: View {
        let model: Model
        let message: ChatMessage
        let words: Words
        let names: ChatNames
        /// Whether to show the author's name above it.
        let isFirst: Bool
        /// Whether to show the time below it.
        let isLast: Bool
        /// The text being edited, if any.
        @State private var edited: String?
        @ScaledMetric private var inset = 8.0

        init(model: Model, message: ChatMessage, words: Words, names: ChatNames, isFirst: Bool, isLast: Bool) {
            (self.model, self.message, self.words, self.names) = (model, message, words, names)
            (self.isFirst, self.isLast) = (isFirst, isLast)
        }

        var body: some View {
            VStack(alignment: message.isOwn ? .trailing : .leading, spacing: 2) {
                if isFirst, !message.isOwn {
                    Text(verbatim: names.author(of: message)).font(.caption).foregroundStyle(.secondary)
                }
                bubble
                reactions
                annotations
                if isFailed {
                    HStack(spacing: inset) {
                        Button(words(.tryAgain)) { model.retry(message) }
                        Button(words(.discard)) { model.discard(message) }
                    }
                    .font(.caption)
                }
            }
            .frame(maxWidth: .infinity, alignment: message.isOwn ? .trailing : .leading)
            .contextMenu { actions }
            // For VoiceOver the row is one element with one sentence and actions; while it is edited, its parts are separate elements.
            .accessibilityElement(children: edited == nil ? .ignore : .contain)
            .accessibilityLabel(ChatSpeech(words: words, names: names, time: ChatTime.clock).sentence(message))
            .accessibilityActions { actions }
        }

        @ViewBuilder private var bubble: some View {
            if let edited {
                editor(edited)
            } else {
                Text(verbatim: message.isDeleted ? words(.deleted) : message.text).italic(message.isDeleted)
                    .padding(inset)
                    // Light shades of the system's colours, so that text keeps its contrast in light and dark mode.
                    .background(
                        message.isOwn ? Color.accentColor.opacity(0.2) : Color.secondary.opacity(0.15),
                        in: RoundedRectangle(cornerRadius: inset * 1.5))
            }
        }

        @ViewBuilder private var reactions: some View {
            if !message.reactions.isEmpty {
                HStack(spacing: inset / 2) {
                    ForEach(message.reactions) { reaction in
                        // `verbatim`, because reactions of other users must not be treated as a format string.
                        Button(action: { react(reaction.key) }) { Text(verbatim: "\(reaction.key) \(reaction.users.count)") }.font(.caption)
                    }
                }
            }
        }

        @ViewBuilder private var annotations: some View {
            if isLast || isFailed || message.isEdited {
                HStack(spacing: inset / 2) {
                    if message.isEdited { Text(verbatim: words(.edited)) }
                    if isLast || isFailed { Text(verbatim: ChatTime.clock(message.at)) }
                    if let delivery = message.delivery {
                        Image(systemName: delivery.symbol).foregroundStyle(isFailed ? Color.red : Color.gray)
                    }
                }
                .font(.caption)
                .foregroundStyle(.secondary)
            }
        }

        /// The actions for the menu and for VoiceOver.
        @ViewBuilder private var actions: some View {
            if message.seq != nil, !message.isDeleted {
                Button(words(.reactWith, "👍")) { react("👍") }
                Button(words(.reactWith, "❤️")) { react("❤️") }
            }
            if message.isEditable { Button(words(.edit)) { edited = message.text } }
            // SAFETY: ends when the message is on disk, which has a deadline.
            if message.isOwn, message.seq != nil, !message.isDeleted { Button(words(.delete)) { Task { await model.delete(message) } } }
            if isFailed {
                Button(words(.tryAgain)) { model.retry(message) }
                Button(words(.discard)) { model.discard(message) }
            }
        }

        private func editor(_ text: String) -> some View {
            let draft = Binding(get: { @MainActor in text }, set: { @MainActor text in edited = text })
            return HStack(spacing: inset) {
                TextField(words(.message), text: draft, axis: .vertical)
                    .lineLimit(5)
                    .onSubmit { save(text) }
                Button(words(.save)) { save(text) }.disabled(text.isEmpty)
                Button(words(.cancel)) { edited = nil }
            }
            .font(.caption)
        }

        private func save(_ text: String) {
            edited = nil
            guard text != message.text, !text.isEmpty else { return }
            // SAFETY: ends when the message is on disk, which has a deadline.
            Task { await model.edit(message, to: text) }
        }

        private var isFailed: Bool { if case .failed = message.delivery { true } else { false } }

        private func react(_ key: String) {
            // SAFETY: ends when the message is on disk, which has a deadline.
            Task { await model.react(to: message, key) }
        }
    }
#endif
