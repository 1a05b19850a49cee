#if Rooms && canImport(SwiftUI)
    public import HoldfastRooms
    import RoomCore
    public import SwiftUI

    /// A chat: the messages of a room with their delivery states, the people present and typing, and a field to write in.
    ///
    /// ```swift
    /// ChatView(ChatModel(room))
    /// ```
    ///
    /// Days and times are shown in the system's format. The view follows the text size, the colours and the language of the
    /// system (English and German; ``ChatOptions`` takes others), and VoiceOver reads a message as one sentence, with its actions.
    public struct ChatView<Model: ChatPresenting>: View {
        private let model: Model
        private let options: ChatOptions

        /// Creates a chat for a model.
        ///
        /// - Parameters:
        ///   - model: Provides the contents and performs the actions.
        ///   - options: The displayed names and texts.
        public init(_ model: Model, options: ChatOptions = ChatOptions()) { (self.model, self.options) = (model, options) }

        /// The content of the view.
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

    /// The title, the people present, and the connection state; arranged vertically for large text.
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

    /// The line that shows who types, or the last problem.
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

    /// The field to write a message.
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
