#if canImport(Security)
    import Foundation
    import Security

    /// A token in the system's keychain: where an app on Apple platforms keeps it.
    ///
    /// ```swift
    /// let store = KeychainTokenStore(service: "com.example.chat", account: "ann")
    /// ```
    ///
    /// The item is a generic password. It is readable once the device has been unlocked after its start, so that a socket connects again
    /// while the screen is locked; before that ``load()`` throws ``TokenStoreError/locked``. It stays on this device: it is in no backup
    /// that another device could restore, and not in iCloud. It outlives the app's deletion, so delete it when the user signs out.
    ///
    /// Its methods wait for the system's keychain daemon, for some milliseconds as a rule. On a Mac it takes the data protection
    /// keychain, for which the app has to be signed.
    public struct KeychainTokenStore: TokenStore {
        private let rules: KeychainRules<SystemKeychain>

        /// A store for one token.
        ///
        /// - Parameters:
        ///   - service: What the token is for, such as the app's bundle identifier.
        ///   - account: Whose it is, where one app has several.
        ///   - accessGroup: The group whose apps and extensions share it; nil: the app's own. One that the app is not entitled to is
        ///     ``TokenStoreError/keychain(status:)`` with -34018.
        public init(service: String, account: String = "", accessGroup: String? = nil) {
            rules = KeychainRules(items: SystemKeychain(service: service, account: account, accessGroup: accessGroup))
        }

        /// The token that was saved last; nil if there is none.
        public func load() throws(TokenStoreError) -> StoredToken? { try rules.load() }

        /// Puts a token in the place of the one before.
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
