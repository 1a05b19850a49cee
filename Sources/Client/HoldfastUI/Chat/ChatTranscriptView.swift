#if Rooms && canImport(SwiftUI)
    import HoldfastRooms
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
#endif
