#if canImport(SwiftUI)
    import HoldfastRooms
    import RoomCore
    import SwiftUI

    /// One message.
    struct ChatRow<Model: ChatPresenting>: View {
        let model: Model
        let message: ChatMessage
        /// What is being written in its place.
        @State private var edited: String?

        init(model: Model, message: ChatMessage) { (self.model, self.message) = (model, message) }

        var body: some View {
            VStack(alignment: message.isOwn ? .trailing : .leading, spacing: 2) {
                Text(verbatim: message.isOwn ? "You" : message.user?.text.escapedAsName ?? "").font(.caption).foregroundStyle(.secondary)
                if let edited {
                    editor(edited)
                } else {
                    Text(verbatim: message.isDeleted ? "deleted" : message.text).italic(message.isDeleted)
                }
                HStack(spacing: 6) {
                    ForEach(message.reactions) { reaction in
                        // What others wrote is no format.
                        Button(action: { react(reaction.key) }) { Text(verbatim: "\(reaction.key) \(reaction.users.count)") }.font(.caption)
                    }
                    if message.isEdited { Text(verbatim: "edited").font(.caption).foregroundStyle(.secondary) }
                    if let delivery = message.delivery {
                        Image(systemName: delivery.symbol).font(.caption).foregroundStyle(isFailed ? Color.red : Color.gray)
                    }
                }
                if isFailed {
                    HStack(spacing: 8) {
                        Button("Try again") { model.retry(message) }
                        Button("Discard") { model.discard(message) }
                    }
                    .font(.caption)
                }
            }
            .padding(8)
            .contextMenu {
                Button("👍") { react("👍") }
                Button("❤️") { react("❤️") }
                if message.isEditable { Button("Edit") { edited = message.text } }
                // SAFETY: ends when the message is on disk, which has a deadline.
                if message.isOwn, message.seq != nil, !message.isDeleted { Button("Delete") { Task { await model.delete(message) } } }
            }
            .accessibilityElement(children: .contain)
            .accessibilityLabel(spoken)
        }

        private func editor(_ text: String) -> some View {
            HStack(spacing: 8) {
                TextField("Message", text: Binding(get: { @MainActor in text }, set: { @MainActor text in edited = text }), axis: .vertical)
                    .lineLimit(5)
                    .onSubmit { save(text) }
                Button("Save") { save(text) }.disabled(text.isEmpty)
                Button("Cancel") { edited = nil }
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

        private var spoken: String {
            let who = message.isOwn ? "You" : message.user?.text.escapedAsName ?? "Somebody"
            let what = message.isDeleted ? "a deleted message" : message.text
            return "\(who): \(what)" + (message.delivery.map { ", \($0.label)" } ?? "")
        }

        private func react(_ key: String) {
            // SAFETY: ends when the message is on disk, which has a deadline.
            Task { await model.react(to: message, key) }
        }
    }
#endif
