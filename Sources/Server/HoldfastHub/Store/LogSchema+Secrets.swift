import MachineCore
import RoomCore
import RoomsStorage

extension LogSchema {
    /// The key for the devices of what programs publish under names of their own: drawn once, and stored with the log.
    ///
    /// A disk that is full when there is none yet keeps nobody from reading: the key is then good for this life of the hub.
    static func namesKey(_ connection: SQLiteConnection) throws(SQLiteFailure) -> [UInt8] {
        if let key = try storedKey("names", connection), key.count == PublicationNames.keyLength { return key }
        let key = PublicationNames.drawnKey()
        _ = try store(key, "names", connection)
        return key
    }

    /// The key that proves cursors: drawn once, and stored with the log.
    ///
    /// Without it, a disk that is full leaves them without proofs.
    static func proofKey(_ connection: SQLiteConnection) throws(SQLiteFailure) -> ProofKey? {
        if let bits = try storedKey("proofs", connection).flatMap({ $0.withUnsafeBytes(StoredEntry.bits) }) { return ProofKey(bits) }
        var chance = SystemRandomNumberGenerator()
        let bits = Bits128(high: chance.next(), low: chance.next())
        return try store(StoredEntry.bytes(of: bits), "proofs", connection) ? ProofKey(bits) : nil
    }

    /// Stores a key; whether it is on disk.
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
