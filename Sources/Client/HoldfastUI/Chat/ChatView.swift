#if canImport(SwiftUI)
    public import HoldfastRooms
    import RoomCore
    public import SwiftUI

    /// A chat: the messages of a room with what has become of the own ones, who is there and types, and a field to write in.
    ///
    /// ```swift
    /// ChatView(ChatModel(room))
    /// ```
    ///
    /// It follows the text size and the colours of the system, and reads well aloud.
    public struct ChatView<Model: ChatPresenting>: View {
        private let model: Model

        /// A chat over a model.
        public init(_ model: Model) { self.model = model }

        /// The chat.
        public var body: some View {
            VStack(spacing: 0) {
                ChatHeader(model: model)
                Divider()
                ChatTranscript(model: model)
                ChatTypingLine(model: model)
                Divider()
                ChatComposer(model: model)
            }
        }
    }

    /// Who is there, and how the connection is.
    struct ChatHeader<Model: ChatPresenting>: View {
        let model: Model

        var body: some View {
            HStack(spacing: 8) {
                VStack(alignment: .leading, spacing: 2) {
                    Text(verbatim: model.title).font(.headline)
                    Text(verbatim: present).font(.caption).foregroundStyle(.secondary).lineLimit(1)
                }
                Spacer()
                Image(systemName: model.connection.symbol).foregroundStyle(colour)
                Text(verbatim: model.connection.label).font(.caption)
            }
            .padding(8)
            .accessibilityElement(children: .combine)
        }

        private var present: String { model.people.isEmpty ? "nobody else is here" : model.people.map(\.text).joined(separator: ", ") }

        private var colour: Color {
            switch model.connection {
            case .live: .green
            case .connecting: .orange
            case .offline: .gray
            case .closed: .red
            }
        }
    }

    /// The messages, the last in sight.
    struct ChatTranscript<Model: ChatPresenting>: View {
        let model: Model

        var body: some View {
            ScrollViewReader { reader in
                ScrollView {
                    LazyVStack(alignment: .leading, spacing: 8) {
                        if model.hasEarlier {
                            // SAFETY: ends with the page, which has a deadline.
                            Button("Load earlier messages") { Task { await model.loadEarlier() } }
                                .disabled(model.isLoadingEarlier)
                        }
                        ForEach(model.messages) { message in ChatRow(model: model, message: message) }
                    }
                    .padding(8)
                }
                .onChange(of: model.messages.last?.id) { _, last in
                    if let last { reader.scrollTo(last) }
                    model.markRead()
                }
            }
        }
    }

    /// Who types, or what went wrong.
    struct ChatTypingLine<Model: ChatPresenting>: View {
        let model: Model

        var body: some View {
            HStack(spacing: 8) {
                if let problem = model.problem {
                    Text(verbatim: problem).font(.caption).foregroundStyle(Color.red)
                    Button("Dismiss") { model.problem = nil }.font(.caption)
                } else if !model.typing.isEmpty {
                    Text(verbatim: words).font(.caption).foregroundStyle(.secondary)
                }
                Spacer()
            }
            .padding(8)
        }

        private var words: String {
            model.typing.count > 3 ? "several people type" : model.typing.map(\.text).joined(separator: ", ") + " types"
        }
    }

    /// Where one writes.
    struct ChatComposer<Model: ChatPresenting>: View {
        let model: Model

        var body: some View {
            HStack(spacing: 8) {
                TextField("Message", text: draft, axis: .vertical)
                    .lineLimit(5)
                    .onSubmit { send() }
                Button {
                    send()
                } label: {
                    Image(systemName: "arrow.up.circle.fill")
                }
                .disabled(model.draft.isEmpty)
                .accessibilityLabel("Send")
            }
            .padding(8)
        }

        private var draft: Binding<String> {
            Binding(get: { @MainActor in model.draft }, set: { @MainActor text in model.draft = text })
        }

        private func send() {
            // SAFETY: ends when the message is on disk, which has a deadline.
            Task { await model.send() }
        }
    }
#endif
