import RoomCore

extension SimLog {
    /// Of these entries the first one at least, and as many more as fit: the log counts its own bytes, which are not those of frames.
    static func page(_ entries: some Sequence<Entry>, bytes: Int64) -> [Entry] {
        var (page, left): ([Entry], Int64) = ([], bytes)
        for entry in entries {
            left -= 60 + Int64(entry.payload.bytes.count)
            if left < 0, !page.isEmpty { break }
            page.append(entry)
        }
        return page
    }
}
