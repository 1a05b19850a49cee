package import Holdfast
import WebSocketRuntime

/// Asks an app for tokens.
///
/// It waits a limited time, because servers wait for the token. It hides each token in what the socket logs and tells.
package final class TokenSource: Sendable {
    /// Why there is no token.
    package enum Failure: Error {
        /// Asking again cannot help.
        case refused(CredentialUnavailable)
        /// The app's code threw an error of this type. What it says may be secret: the address of a service with its token, say.
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

    deinit { cancelRenewal() }

    /// Asks for a token; one that takes too long is cancelled, and its token is not used.
    package func token() async throws(Failure) -> String {
        let (answer, changes) = (LockedValue<Result<String, Failure>?>(nil), Changes())
        // SAFETY: cancelled when the wait is over, and then left to itself: an app's code that does not heed that must not hold up anybody.
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
            try answer.withLockedValue(\.self)?.get()
        }
        if let token { return token }
        throw Task.isCancelled ? .cancelled : .timedOut
    }

    /// Asks for a token that takes the place of the present one; an earlier renewal is cancelled.
    ///
    /// A failure is not told: then the present token ends.
    package func renew(_ take: @escaping @Sendable (String) -> Void) {
        // SAFETY: ends with the answer or the patience; cancelled by the next one and with the connection.
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
