/// What tells an entry from every other that may stand in its place.
///
/// Its name alone does not: a message that is sent again, after the log went back, is stored under its name again. `at` is the hub's, so that
/// no publisher can choose it.
package struct EntryStamp: Hashable, Sendable {
    package let id: MessageID
    package let device: DeviceID
    package let cseq: Int64
    package let at: Int64

    package init(id: MessageID, device: DeviceID, cseq: Int64, at: Int64) {
        (self.id, self.device, self.cseq, self.at) = (id, device, cseq, at)
    }

    package init(_ entry: Entry) { self.init(id: entry.id, device: entry.device, cseq: entry.cseq, at: entry.at) }
}
