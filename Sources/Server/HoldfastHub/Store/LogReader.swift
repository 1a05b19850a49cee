import RoomCore
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
