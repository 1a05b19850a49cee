package import RoomCore
import RoomsStorage
import WebSocketRuntime

/// Reads a hub's log while the writer writes.
actor LogReader {
    private nonisolated let queue = BlockingQueue("holdfast.log.reader")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    private let place: LogPlace
    private var tables: LogTables?
    private var isClosed = false

    init(place: LogPlace) { self.place = place }

    /// Carries out orders that only read, all in one read transaction.
    func carryOut(_ orders: [(Int, LogOrder)]) -> [(Int, LogReply)] {
        guard !isClosed, let tables = try? openTables() else { return negative(orders) }
        guard (try? tables.connection.run("BEGIN")) != nil else {
            self.tables = nil
            return negative(orders)
        }
        var replies: [(Int, LogReply)] = []
        replies.reserveCapacity(orders.count)
        for (index, order) in orders {
            do throws(SQLiteFailure) {
                if let reply = try tables.carryOut(order) { replies.append((index, reply)) }
            } catch {
                // The next order uses a new connection.
                self.tables = nil
                if let reply = order.reply(to: error) { replies.append((index, reply)) }
            }
        }
        if (try? tables.connection.run("COMMIT")) == nil { self.tables = nil }
        return replies
    }

    /// Returns the state of a room's log, and the entries that an order asks for.
    func page(_ order: LogOrder, withReads: Bool = false) throws(RoomLogError) -> (head: LogHead, entries: [Entry]) {
        guard !isClosed else { throw .closed }
        let page: (LogHead, [Entry])?
        do throws(SQLiteFailure) { page = try read(order, withReads: withReads) } catch {
            tables = nil
            throw RoomLogError(error, place.file)
        }
        guard let page else { throw .noRoom(order.room.text) }
        return page
    }

    private func read(_ order: LogOrder, withReads: Bool) throws(SQLiteFailure) -> (LogHead, [Entry])? {
        let tables = try openTables()
        try tables.connection.run("BEGIN")
        // If this fails, the next transaction cannot begin, and a new connection is opened.
        defer { try? tables.connection.run("COMMIT") }
        guard let row = try tables.room(order.room), case .fetched(_, let entries, _, _)? = try tables.carryOut(order) else { return nil }
        var head = row.head
        if withReads { head.reads = try tables.reads(room: row.number) }
        return (head, entries)
    }

    private func openTables() throws(SQLiteFailure) -> LogTables {
        if let tables { return tables }
        let connection = try place.connect()
        try connection.run("PRAGMA query_only = ON")
        let opened = try LogTables(connection)
        tables = opened
        return opened
    }

    private func negative(_ orders: [(Int, LogOrder)]) -> [(Int, LogReply)] {
        orders.compactMap { index, order in order.negativeReply.map { (index, $0) } }
    }

    func close() { (tables, isClosed) = (nil, true) }
}

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
