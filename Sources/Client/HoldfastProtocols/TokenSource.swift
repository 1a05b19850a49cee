import CodecCore
package import Holdfast
import WebSocketRuntime

/// Gets tokens from an app's provider.
///
/// It waits a limited time, because servers wait for the token. It hides each token in the logs and errors of the socket.
package final class TokenSource: Sendable {
    /// Why there is no token.
    package enum Failure: Error {
        /// The provider says that a retry cannot help.
        case refused(CredentialUnavailable)
        /// The app's code threw an error of this type. Its text is left out, because it may contain secrets such as a URL with a token.
        case failed(String)
        case timedOut
        case cancelled
    }
    private let provider: @Sendable () async throws -> String
    private let patience: Duration
    private let secrets: SessionSecrets
    private let time: LinkTime
    private let renewal = LockedValue<Task<Void, Never>?>(nil)

    package init(
        within patience: Duration, on time: LinkTime, secrets: SessionSecrets, _ provider: @escaping @Sendable () async throws -> String
    ) {
        (self.provider, self.patience, self.secrets, self.time) = (provider, patience, secrets, time)
    }

    /// A source of payloads in JSON, whose strings are hidden, too.
    ///
    /// - Parameter payload: Returns a payload; `null` is none.
    package convenience init(
        within patience: Duration, on time: LinkTime, secrets: SessionSecrets, payload: @escaping @Sendable () async throws -> [UInt8]
    ) {
        self.init(within: patience, on: time, secrets: secrets) {
            let json = try await payload()
            // Short strings, such as the name of a platform, are no secrets, and are in too many texts.
            for text in try Value(json: json).texts where text.utf8.count >= 8 { secrets.hide(text) }
            return String(decoding: json, as: UTF8.self)
        }
    }

    deinit { cancelRenewal() }

    /// Returns a payload; nil if the app gives none.
    package func payload() async throws(Failure) -> [UInt8]? {
        let json = try await token()
        return json == "null" ? nil : Array(json.utf8)
    }

    /// Returns a token; cancels a provider that takes too long, and ignores its token.
    package func token() async throws(Failure) -> String {
        let (answer, changes) = (LockedValue<Result<String, Failure>?>(nil), Changes())
        // SAFETY: cancelled when the wait is over. Nothing awaits it then, so an app's code that ignores the cancellation blocks no caller.
        let asking = Task { [provider, secrets] in
            let outcome: Result<String, Failure>
            do {
                let token = try await provider()
                secrets.hide(token)
                outcome = .success(token)
            } catch let error as CredentialUnavailable where !error.isRetryable {
                outcome = .failure(.refused(error))
            } catch {
                outcome = .failure(.failed("\(type(of: error))"))
            }
            answer.withLockedValue { $0 = outcome }
            changes.announce()
        }
        defer { asking.cancel() }
        let token = try await changes.first(until: time.now() + patience, on: time) { () throws(Failure) in
            try answer.withLockedValue({ $0 })?.get()
        }
        if let token { return token }
        throw Task.isCancelled ? .cancelled : .timedOut
    }

    /// Gets a token that replaces the present one; cancels an earlier renewal.
    ///
    /// A failure is not reported; the present token then expires.
    package func renew(_ take: @escaping @Sendable (String) -> Void) {
        // SAFETY: ends with the answer or the time limit; cancelled by the next renewal and with the connection.
        let task = Task { [weak self] in
            guard let token = try? await self?.token(), !Task.isCancelled else { return }
            take(token)
        }
        renewal.withLockedValue { renewal in
            defer { renewal = task }
            return renewal
        }?.cancel()
    }

    package func cancelRenewal() { renewal.withLockedValue { $0.take() }?.cancel() }
}

extension Value {
    /// All texts in the value.
    fileprivate var texts: [String] {
        switch self {
        case .text(let text): [text]
        case .array(let items): items.flatMap(\.texts)
        case .map(let map): map.flatMap(\.value.texts)
        default: []
        }
    }
}
