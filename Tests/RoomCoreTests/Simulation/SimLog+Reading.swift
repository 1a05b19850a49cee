import RoomCore

extension SimLog {
    /// At least the first of these entries, and as many more as fit.
    ///
    /// The log counts its own bytes, which differ from those of frames.
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
