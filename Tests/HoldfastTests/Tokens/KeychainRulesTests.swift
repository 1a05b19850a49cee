import Foundation
import WebSocketRuntime
import Testing

@testable import Holdfast

@Suite struct KeychainRulesTests {
    /// A keychain with one item, or with prepared answers.
    private final class Items: KeychainItems {
        let bytes = LockedValue<Data?>(nil)
        let calls = LockedValue<[String]>([])
        /// The status codes of the next calls, in place of the real ones.
        let answers = LockedValue<[Int32]>([])
        /// Whether another process adds the item just before this one does.
        let isRaced = LockedValue(false)

        private func note(_ call: String) -> Int32? {
            calls.withLockedValue { $0.append(call) }
            return answers.withLockedValue { $0.isEmpty ? nil : $0.removeFirst() }
        }

        func read() -> (status: Int32, bytes: Data?) {
            if let answer = note("read") { return (answer, nil) }
            return bytes.withLockedValue { ($0 == nil ? KeychainStatus.itemNotFound : KeychainStatus.success, $0) }
        }

        func add(_ data: Data) -> Int32 {
            if let answer = note("add") { return answer }
            if isRaced.withLockedValue({ $0 }) { bytes.withLockedValue { $0 = Data("theirs".utf8) } }
            return bytes.withLockedValue {
                guard $0 == nil else { return KeychainStatus.duplicateItem }
                $0 = data
                return KeychainStatus.success
            }
        }

        func update(_ data: Data) -> Int32 {
            if let answer = note("update") { return answer }
            return bytes.withLockedValue {
                guard $0 != nil else { return KeychainStatus.itemNotFound }
                $0 = data
                return KeychainStatus.success
            }
        }

        func delete() -> Int32 {
            if let answer = note("delete") { return answer }
            return bytes.withLockedValue { bytes in
                defer { bytes = nil }
                return bytes == nil ? KeychainStatus.itemNotFound : KeychainStatus.success
            }
        }

        var callNames: [String] { calls.withLockedValue { $0 } }
    }

    private let items = Items()
    private var rules: KeychainRules<Items> { KeychainRules(items: items) }

    private func failure(_ body: () throws -> Void) -> TokenStoreError? {
        do {
            try body()
            return nil
        } catch {
            return error as? TokenStoreError
        }
    }

    @Test func `the first save adds an item, the next one updates it, and a deleted item is missing`() throws {
        #expect(try rules.load() == nil)
        let token = StoredToken("secret", refresh: "next", expires: Date(timeIntervalSince1970: 1_800_000_000))
        try rules.save(token)
        #expect(try rules.load() == token)
        try rules.save(StoredToken("another"))
        #expect(try rules.load() == StoredToken("another"))
        try rules.delete()
        try rules.delete()
        #expect(try rules.load() == nil)
        #expect(items.callNames == ["read", "update", "add", "read", "update", "read", "delete", "delete", "read"])
    }

    @Test func `an item that another process adds meanwhile is updated`() throws {
        items.isRaced.withLockedValue { $0 = true }
        try rules.save(StoredToken("ours"))
        #expect(try rules.load() == StoredToken("ours"))
        #expect(items.callNames == ["update", "add", "update", "read"])
    }

    @Test func `a locked device is a retryable failure`() {
        let calls: [() throws -> Void] = [{ _ = try rules.load() }, { try rules.delete() }, { try rules.save(StoredToken("secret")) }]
        for call in calls {
            items.answers.withLockedValue { $0 = [-25_308] }
            let error = failure(call)
            #expect(error == .locked)
            #expect(error?.isRetryable == true)
        }
    }

    @Test func `any other status is an error with its number and an advice`() {
        items.answers.withLockedValue { $0 = [-34_018] }
        let error = failure { try rules.save(StoredToken("secret")) }
        #expect(error == .keychain(status: -34_018))
        #expect(error?.description.contains("-34018: the app may not use this access group") == true)
        #expect(error?.isRetryable == false)
    }

    @Test func `an item with other bytes is damaged`() {
        items.bytes.withLockedValue { $0 = Data("theirs".utf8) }
        #expect(failure { _ = try rules.load() } == .damaged("it is not a token"))
        items.answers.withLockedValue { $0 = [0] }
        #expect(failure { _ = try rules.load() } == .damaged("the keychain returned no data"))
    }

    @Test func `no description and no dump contains a token`() {
        let token = StoredToken("hidden-a", refresh: "hidden-b", expires: Date(timeIntervalSince1970: 0))
        let store = MemoryTokenStore(token)
        var dumped = ""
        dump(token, to: &dumped)
        dump([token], to: &dumped)
        for text in ["\(token)", String(reflecting: token), "\([token])", dumped, "\(Optional(token) as Any)", "\(store)"] {
            #expect(!text.contains("hidden-"))
        }
    }
}
