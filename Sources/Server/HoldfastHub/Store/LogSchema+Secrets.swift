import MachineCore
import RoomCore
import RoomsStorage

extension LogSchema {
    /// Returns the key for the devices of named publications: drawn once, and stored with the log.
    ///
    /// If the disk is full when the key is created, the hub still works, and uses the key until it stops.
    static func namesKey(_ connection: SQLiteConnection) throws(SQLiteFailure) -> [UInt8] {
        if let key = try storedKey("names", connection), key.count == PublicationNames.keyLength { return key }
        let key = PublicationNames.drawnKey()
        _ = try store(key, "names", connection)
        return key
    }

    /// Returns the key for the proofs of cursors: drawn once, and stored with the log.
    ///
    /// If there is none and the disk is full, cursors get no proofs.
    static func proofKey(_ connection: SQLiteConnection) throws(SQLiteFailure) -> ProofKey? {
        if let bits = try storedKey("proofs", connection).flatMap({ $0.withUnsafeBytes(StoredEntry.bits) }) { return ProofKey(bits) }
        var chance = SystemRandomNumberGenerator()
        let bits = Bits128(high: chance.next(), low: chance.next())
        return try store(StoredEntry.bytes(of: bits), "proofs", connection) ? ProofKey(bits) : nil
    }

    /// Stores a key; returns whether it is on disk.
    private static func store(_ key: [UInt8], _ name: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> Bool {
        let stored: Void? = try? connection.run(
            """
            BEGIN IMMEDIATE;
            CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
            INSERT OR REPLACE INTO secrets VALUES ('\(name)', x'\(Hexadecimal.text(key))');
            COMMIT;
            """)
        if !connection.isIdle { try connection.run("ROLLBACK") }
        return stored != nil
    }

    private static func storedKey(_ name: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> [UInt8]? {
        guard try connection.number("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'secrets'") == 1 else { return nil }
        return try connection.prepare("SELECT value FROM secrets WHERE name = '\(name)'").first { Array($0.bytes(0)) }
    }
}
