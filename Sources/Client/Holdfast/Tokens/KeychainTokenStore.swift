#if canImport(Security)
    import Foundation
    import Security

    /// Stores a token in the system's keychain, for apps on Apple platforms.
    ///
    /// ```swift
    /// let store = KeychainTokenStore(service: "com.example.chat", account: "ann")
    /// ```
    ///
    /// The item is a generic password. It is readable after the device was first unlocked since its start, so a socket can reconnect
    /// while the screen is locked; before that ``load()`` throws ``TokenStoreError/locked``. The item stays on this device: it is not in
    /// iCloud, and another device cannot restore it from a backup. It remains when the app is deleted, so delete it when the user signs out.
    ///
    /// The methods wait for the system's keychain daemon, usually for some milliseconds. On a Mac the store uses the data protection
    /// keychain, for which the app must be signed.
    public struct KeychainTokenStore: TokenStore {
        private let rules: KeychainRules<SystemKeychain>

        /// Creates a store for one token.
        ///
        /// - Parameters:
        ///   - service: The purpose of the token, such as the app's bundle identifier.
        ///   - account: The account of the token, if one app has several.
        ///   - accessGroup: The group whose apps and extensions share the token; nil: the app's own. If the app has no entitlement for the
        ///     group, the methods throw ``TokenStoreError/keychain(status:)`` with -34018.
        public init(service: String, account: String = "", accessGroup: String? = nil) {
            rules = KeychainRules(items: SystemKeychain(service: service, account: account, accessGroup: accessGroup))
        }

        /// Returns the token that was saved last; nil if there is none.
        public func load() throws(TokenStoreError) -> StoredToken? { try rules.load() }

        /// Replaces the stored token.
        public func save(_ token: StoredToken) throws(TokenStoreError) { try rules.save(token) }

        /// Removes the token; harmless if there is none.
        public func delete() throws(TokenStoreError) { try rules.delete() }
    }

    /// One generic password of the system's keychain.
    struct SystemKeychain: KeychainItems {
        let service: String
        let account: String
        let accessGroup: String?

        private var item: [String: Any] {
            var item: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service, kSecAttrAccount as String: account,
                kSecUseDataProtectionKeychain as String: true, kSecAttrSynchronizable as String: false,
            ]
            if let accessGroup { item[kSecAttrAccessGroup as String] = accessGroup }
            return item
        }

        private func content(_ bytes: Data) -> [String: Any] {
            [kSecValueData as String: bytes, kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly]
        }

        func read() -> (status: Int32, bytes: Data?) {
            var query = item
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            let any: Any? = found
            return (status, any as? Data)
        }

        func add(_ bytes: Data) -> Int32 {
            SecItemAdd(item.merging(content(bytes)) { _, new in new } as CFDictionary, nil)
        }

        func update(_ bytes: Data) -> Int32 { SecItemUpdate(item as CFDictionary, content(bytes) as CFDictionary) }

        func delete() -> Int32 { SecItemDelete(item as CFDictionary) }
    }
#endif
