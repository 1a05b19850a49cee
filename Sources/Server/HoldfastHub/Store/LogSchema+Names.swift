import GRDBSQLite

extension LogSchema {
    /// The key for the devices of what programs publish under names of their own: drawn once, and stored with the log.
    ///
    /// A disk that is full when there is none yet keeps nobody from reading: the key is then good for this life of the hub.
    static func namesKey(_ connection: SQLiteConnection) throws(SQLiteFailure) -> [UInt8] {
        if let key = try storedKey(connection) { return key }
        let key = PublicationNames.drawnKey()
        let digits = key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        try? connection.run(
            """
            BEGIN IMMEDIATE;
            CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
            INSERT OR REPLACE INTO secrets VALUES ('names', x'\(digits)');
            COMMIT;
            """)
        if !connection.isIdle { try connection.run("ROLLBACK") }
        return key
    }

    private static func storedKey(_ connection: SQLiteConnection) throws(SQLiteFailure) -> [UInt8]? {
        guard try connection.number("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'secrets'") == 1 else { return nil }
        let statement = try connection.prepare("SELECT value FROM secrets WHERE name = 'names'")
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let key = Array(statement.bytes(0))
        return key.count == PublicationNames.keyLength ? key : nil
    }
}
