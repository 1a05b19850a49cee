#if Rooms
    import HoldfastRooms

    /// What VoiceOver reads for a message: who, when, what, and what has become of it, in one sentence.
    struct ChatSpeech {
        let words: Words
        let names: ChatNames
        /// A time of day for people to hear, of milliseconds since 1970 UTC.
        let time: (Int64) -> String

        func sentence(_ message: ChatMessage) -> String {
            let text = message.isDeleted ? words(.deleted) : message.text
            var parts = [words(.spokenMessage, names.author(of: message), time(message.at), text)]
            if message.isEdited, !message.isDeleted { parts.append(words(.edited)) }
            for reaction in message.reactions where !reaction.users.isEmpty {
                let count = reaction.users.count
                parts.append(
                    count == 1 ? words(.spokenReactionOne, reaction.key) : words(.spokenReactionMany, reaction.key, "\(count)"))
            }
            if let delivery = message.delivery { parts.append(words.label(delivery)) }
            return parts.joined(separator: ", ")
        }
    }
#endif
