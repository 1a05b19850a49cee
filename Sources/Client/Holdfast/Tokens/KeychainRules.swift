import Foundation

/// The keychain as far as a store asks it; the system's, or a stand-in.
///
/// Each returns an `OSStatus`.
protocol KeychainItems: Sendable {
    /// The bytes of the item, if the status is that of success.
    func read() -> (status: Int32, bytes: Data?)
    /// Makes the item.
    func add(_ bytes: Data) -> Int32
    /// Gives the item other bytes, and its protection anew.
    func update(_ bytes: Data) -> Int32
    /// Removes the item.
    func delete() -> Int32
}

/// What the keychain says, by number: Apple's headers are not everywhere.
///
/// Source: Security Framework Result Codes, `SecBase.h`.
enum KeychainStatus {
    static let success: Int32 = 0
    static let duplicateItem: Int32 = -25_299
    static let itemNotFound: Int32 = -25_300
    static let interactionNotAllowed: Int32 = -25_308
    static let missingEntitlement: Int32 = -34_018

    /// What helps, where that is known.
    static func hint(on status: Int32) -> String {
        status == missingEntitlement ? ": the app may not use this access group; see the capability Keychain Sharing" : ""
    }
}

/// What a store asks of the keychain, and what its answers mean.
struct KeychainRules<Items: KeychainItems> {
    let items: Items

    func load() throws(TokenStoreError) -> StoredToken? {
        let (status, bytes) = items.read()
        if status == KeychainStatus.itemNotFound { return nil }
        try check(status)
        guard let bytes else { throw .damaged("the keychain gave no bytes") }
        return try TokenRecord.decode(bytes)
    }

    /// One that is there is changed in place, so that there is never none.
    func save(_ token: StoredToken) throws(TokenStoreError) {
        let bytes = try TokenRecord.encode(token)
        var status = items.update(bytes)
        if status == KeychainStatus.itemNotFound {
            status = items.add(bytes)
            // Somebody else has made it meanwhile.
            if status == KeychainStatus.duplicateItem { status = items.update(bytes) }
        }
        try check(status)
    }

    func delete() throws(TokenStoreError) {
        let status = items.delete()
        if status != KeychainStatus.itemNotFound { try check(status) }
    }

    private func check(_ status: Int32) throws(TokenStoreError) {
        switch status {
        case KeychainStatus.success: return
        case KeychainStatus.interactionNotAllowed: throw .locked
        default: throw .keychain(status: status)
        }
    }
}
