import Foundation

/// The keychain operations that a store needs; implemented by the system's keychain and by a substitute for tests.
///
/// Each operation returns an `OSStatus`.
protocol KeychainItems: Sendable {
    /// Returns the bytes of the item if the status is success.
    func read() -> (status: Int32, bytes: Data?)
    /// Creates the item.
    func add(_ bytes: Data) -> Int32
    /// Replaces the item's bytes, and sets its protection again.
    func update(_ bytes: Data) -> Int32
    /// Removes the item.
    func delete() -> Int32
}

/// The status codes of the keychain as numbers, because Apple's headers do not exist on all platforms.
///
/// Source: Security Framework Result Codes, `SecBase.h`.
enum KeychainStatus {
    static let success: Int32 = 0
    static let duplicateItem: Int32 = -25_299
    static let itemNotFound: Int32 = -25_300
    static let interactionNotAllowed: Int32 = -25_308
    static let missingEntitlement: Int32 = -34_018

    /// Returns advice for a status, if there is any.
    static func hint(on status: Int32) -> String {
        status == missingEntitlement ? ": the app may not use this access group; see the capability Keychain Sharing" : ""
    }
}

/// The sequence of keychain operations of a store, and the meaning of their status codes.
struct KeychainRules<Items: KeychainItems> {
    let items: Items

    func load() throws(TokenStoreError) -> StoredToken? {
        let (status, bytes) = items.read()
        if status == KeychainStatus.itemNotFound { return nil }
        try check(status)
        guard let bytes else { throw .damaged("the keychain returned no data") }
        return try TokenRecord.decode(bytes)
    }

    /// Saves a token; an existing item is updated in place, so that there is always one.
    func save(_ token: StoredToken) throws(TokenStoreError) {
        let bytes = try TokenRecord.encode(token)
        var status = items.update(bytes)
        if status == KeychainStatus.itemNotFound {
            status = items.add(bytes)
            // Another process has created it meanwhile.
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
