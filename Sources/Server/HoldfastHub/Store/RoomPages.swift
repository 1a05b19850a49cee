package import RoomCore

/// The log of one room as of the creation of this value, read page by page, in order, while the log is in use.
///
/// Entries that retention deletes in the meantime may be missing.
package struct RoomPages: Sendable {
    /// The state of the room's log, with the read markers.
    package let head: LogHead
    private let room: RoomName
    private let reader: LogReader
    /// The first page, until it is taken.
    private var first: [Entry]?
    private var last: Int64 = 0
    /// The maximum number of entries in a page, and their maximum size, which the first entry may exceed.
    private static let most: (entries: Int64, bytes: Int64) = (500, 1 << 20)

    init(_ room: RoomName, _ reader: LogReader) async throws(RoomLogError) {
        (self.room, self.reader) = (room, reader)
        (head, first) = try await reader.page(
            .fetchAfter(0, room, seq: 0, limit: Self.most.entries, bytes: Self.most.bytes), withReads: true)
    }

    /// Returns the next page; for a room without entries, an empty page and then nil.
    ///
    /// - Throws: A ``RoomLogError``.
    package mutating func next() async throws(RoomLogError) -> [Entry]? {
        if let page = first.take() {
            last = page.last?.seq ?? head.head
            return page
        }
        guard last < head.head else { return nil }
        let limit = min(Self.most.entries, head.head - last)
        let page = try await reader.page(.fetchAfter(0, room, seq: last, limit: limit, bytes: Self.most.bytes)).entries
        last = page.last?.seq ?? head.head
        return Array(page.prefix { $0.seq <= head.head })
    }

    /// Returns the next page as lines of JSON, each with a line break.
    ///
    /// The lines are frames of docs/rooms-protocol.md: first a `state` without entries, which describes the room, then a `msg` for each
    /// entry.
    ///
    /// - Throws: A ``RoomLogError``.
    package mutating func nextLines() async throws(RoomLogError) -> [UInt8]? {
        var lines: [UInt8] = []
        if first != nil {
            let state = HubFrame.RoomState(
                room: room, epoch: head.epoch, from: head.base, to: head.base - 1, head: head.head, base: head.base, items: [],
                isSnapshot: true, hasMore: head.head >= head.base, high: 0, highID: nil, rights: .read, reads: head.reads)
            lines += Self.line(.state(state))
        }
        guard let page = try await next() else { return nil }
        for entry in page { lines += Self.line(.entries(room, epoch: head.epoch, [entry])) }
        return lines
    }

    /// Replaces line breaks with spaces: a payload may contain them between JSON tokens, but not within strings.
    private static func line(_ frame: HubFrame) -> [UInt8] {
        let (newline, carriageReturn, space) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: " "))
        return frame.json().map { $0 == newline || $0 == carriageReturn ? space : $0 } + [newline]
    }
}
