#if Rooms && canImport(SwiftUI)
    public import HoldfastRooms
    import RoomCore
    public import SwiftUI

    /// A chat: the messages of a room with what has become of the own ones, who is there and types, and a field to write in.
    ///
    /// ```swift
    /// ChatView(ChatModel(room))
    /// ```
    ///
    /// Days and times stand beside the messages, as the system writes them. It follows the text size, the colours and the language of the
    /// system (English and German; ``ChatOptions`` takes others), and VoiceOver reads a message as one sentence, with its actions.
    public struct ChatView<Model: ChatPresenting>: View {
        private let model: Model
        private let options: ChatOptions

        /// A chat over a model.
        ///
        /// - Parameters:
        ///   - model: What it shows, and asks for.
        ///   - options: Names and words.
        public init(_ model: Model, options: ChatOptions = ChatOptions()) { (self.model, self.options) = (model, options) }

        /// The chat.
        public var body: some View {
            let words = Words.system(overriding: options.translation)
            let names = ChatNames(model, words, options.displayName)
            VStack(spacing: 0) {
                ChatHeader(model: model, words: words, names: names)
                Divider()
                ChatTranscript(model: model, words: words, names: names)
                ChatTypingLine(model: model, words: words, names: names)
                Divider()
                ChatComposer(model: model, words: words)
            }
        }
    }

    /// Who is there, and how the connection is; below each other where text is large.
    struct ChatHeader<Model: ChatPresenting>: View {
        let model: Model
        let words: Words
        let names: ChatNames
        @Environment(\.dynamicTypeSize) private var size
        @ScaledMetric private var inset = 8.0

        var body: some View {
            Group {
                if size.isAccessibilitySize {
                    VStack(alignment: .leading, spacing: inset / 2) {
                        title
                        connection
                    }
                    .frame(maxWidth: .infinity, alignment: .leading)
                } else {
                    HStack(spacing: inset) {
                        title
                        Spacer()
                        connection
                    }
                }
            }
            .padding(inset)
            .accessibilityElement(children: .combine)
            .accessibilityAddTraits(.isHeader)
        }

        private var title: some View {
            VStack(alignment: .leading, spacing: 2) {
                Text(verbatim: model.title).font(.headline)
                Text(verbatim: present).font(.caption).foregroundStyle(.secondary).lineLimit(size.isAccessibilitySize ? nil : 1)
            }
        }

        private var connection: some View {
            HStack(spacing: inset / 2) {
                Image(systemName: model.connection.symbol).foregroundStyle(colour).accessibilityHidden(true)
                Text(verbatim: words.label(model.connection)).font(.caption)
            }
        }

        private var present: String {
            let others = model.people.filter { !$0.isOwn }
            return others.isEmpty ? words(.nobodyElse) : names.list(others.map(\.user))
        }

        private var colour: Color {
            switch model.connection {
            case .live: .green
            case .connecting: .orange
            case .offline: .gray
            case .closed: .red
            }
        }
    }

    /// Who types, or what went wrong.
    struct ChatTypingLine<Model: ChatPresenting>: View {
        let model: Model
        let words: Words
        let names: ChatNames
        @ScaledMetric private var inset = 8.0

        var body: some View {
            HStack(spacing: inset) {
                if let problem = model.problem {
                    Text(verbatim: problem).font(.caption).foregroundStyle(Color.red)
                    Button(words(.dismiss)) { model.problem = nil }.font(.caption)
                } else if let typing = names.typing(model.typing) {
                    Text(verbatim: typing).font(.caption).foregroundStyle(.secondary)
                }
                Spacer()
            }
            .padding(inset)
        }
    }

    /// Where one writes.
    struct ChatComposer<Model: ChatPresenting>: View {
        let model: Model
        let words: Words
        @ScaledMetric private var inset = 8.0

        var body: some View {
            HStack(spacing: inset) {
                TextField(words(.message), text: draft, axis: .vertical)
                    .lineLimit(5)
                    .onSubmit { send() }
                Button {
                    send()
                } label: {
                    Image(systemName: "arrow.up.circle.fill").font(.title2)
                }
                .disabled(model.draft.isEmpty)
                .accessibilityLabel(words(.send))
            }
            .padding(inset)
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
