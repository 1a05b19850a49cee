import CodecCore
import Logging
import MachineCore
import NIOCore
import WAMPCore
import WAMPSigning
import WebSocketRuntime

/// Examines clients that want to join, concurrently with the router: one examination per client, with a deadline.
///
/// SAFETY: Everything is accessed on the event loop of `core` only.
final class AdmissionDriver: @unchecked Sendable {
    private struct Case {
        let number: UInt64
        let user: String?
        let charge: LoginThrottle.Charge?
        /// Whether it examines the answer to a challenge.
        let isProof: Bool
        var tasks: [Task<Void, Never>] = []
    }
    typealias Answer = @Sendable (_ signature: String, _ extra: ValueMap) async throws -> WAMPAdmission

    private let authenticator: any WAMPAuthenticator
    private let patience: Duration
    private var throttle: LoginThrottle
    private var cases: [RouterConnection: Case] = [:]
    /// The function that checks the answer, and the user as whom the client wants to join.
    private var answers: [RouterConnection: (user: String?, answer: Answer)] = [:]
    /// The addresses of clients that have not joined.
    private var addresses: [RouterConnection: String] = [:]
    private var count: UInt64 = 0

    init(_ authenticator: any WAMPAuthenticator, limits: WAMPRouterConfiguration.Limits) {
        (self.authenticator, patience) = (authenticator, limits.authentication)
        throttle = LoginThrottle(byAddress: LoginThrottle.Rate(limits.failedLoginsPerAddress), byUser: .init(limits.failedLoginsPerUser))
    }

    /// Notes that a client has connected.
    func note(_ connection: RouterConnection, _ address: String?) { addresses[connection] = address }

    /// Starts the examination of a client.
    ///
    /// The core gets the verdict.
    func examine(_ connection: RouterConnection, _ credentials: RouterCredentials, for core: RouterCore) {
        switch credentials {
        case .hello(let realm, let details):
            let (authenticator, applicant) = (authenticator, WAMPApplicant(realm: realm, details: details))
            answers[connection] = nil
            // A client without a claim proves nothing.
            let isClaim = !applicant.methods.allSatisfy { $0 == SigningMethod.anonymous }
            start(connection, applicant.authID, isClaim: isClaim, isProof: false, core) { try await authenticator.examine(applicant) }
        case .answer(let signature, let extra):
            guard let (user, answer) = answers.removeValue(forKey: connection) else {
                return core.host.submit([.examined(connection, .unproven)])
            }
            start(connection, user, isClaim: true, isProof: true, core) { try await answer(signature, extra) }
        }
    }

    /// Notes that a client is gone.
    func forget(_ connection: RouterConnection) {
        addresses[connection] = nil
        end(connection)
    }

    private func end(_ connection: RouterConnection) {
        answers[connection] = nil
        for task in cases.removeValue(forKey: connection)?.tasks ?? [] { task.cancel() }
    }

    private func start(
        _ connection: RouterConnection, _ user: String?, isClaim: Bool, isProof: Bool, _ core: RouterCore,
        _ examine: @escaping @Sendable () async throws -> WAMPAdmission
    ) {
        var (wait, charge) = (Duration.zero, LoginThrottle.Charge?.none)
        if isClaim {
            switch throttle.begin(address: addresses[connection], user: user, at: core.host.time.now()) {
            case .examine(let after, let made): (wait, charge) = (after, made)
            case .refused(let until): return core.host.submit([.examined(connection, .tooMany(until))])
            }
        }
        count += 1
        let (number, time, beginning) = (count, core.host.time, core.host.time.now() + wait)
        let (deadline, waits) = (beginning + patience, wait > .zero)
        // SAFETY: Both tasks end with the verdict or when the client is gone; the second ends at its deadline at the latest.
        let examination = Task {
            do {
                if waits { try await time.sleep(beginning) }
                let admission = try await examine()
                core.host.loop.execute { self.conclude(connection, number, admission, core) }
            } catch {
                core.host.loop.execute { self.fail(connection, number, "\(error)", core) }
            }
        }
        let timer = Task {
            guard (try? await time.sleep(deadline)) != nil else { return }
            core.host.loop.execute { self.fail(connection, number, "it took too long", core) }
        }
        cases[connection] = Case(number: number, user: user, charge: charge, isProof: isProof, tasks: [examination, timer])
    }

    private func fail(_ connection: RouterConnection, _ number: UInt64, _ reason: String, _ core: RouterCore) {
        guard cases[connection]?.number == number else { return }
        core.configuration.logger.error("a client could not be examined: \(reason)")
        conclude(
            connection, number, .refused(reason: WAMPURI.Error.authenticationFailed, message: "your identity could not be verified"), core)
    }

    private func conclude(_ connection: RouterConnection, _ number: UInt64, _ admission: WAMPAdmission, _ core: RouterCore) {
        guard let found = cases[connection], found.number == number else { return }
        end(connection)
        switch admission {
        case .accepted(let principal):
            refund(found, isProven: found.isProof, core)
            core.host.take([.examined(connection, .accepted(principal))])
        case .refused(let reason, let message): core.host.take([.examined(connection, .refused(reason: reason, message: message))])
        case .challenged(let method, let extra, let answer):
            refund(found, isProven: false, core)
            answers[connection] = (found.user, answer)
            core.host.take([.examined(connection, .challenged(method: method, extra: extra))])
        }
    }

    private func refund(_ found: Case, isProven: Bool, _ core: RouterCore) {
        if let charge = found.charge { throttle.refund(charge, isProven: isProven, at: core.host.time.now()) }
    }
}

extension LoginThrottle.Rate {
    fileprivate init(_ rate: WAMPRouterConfiguration.LoginRate) { self.init(burst: rate.burst, pause: rate.pause) }
}

extension RouterVerdict {
    /// An answer without a pending challenge.
    fileprivate static let unproven = RouterVerdict.refused(
        reason: WAMPURI.Error.authenticationFailed, message: "no challenge is pending")

    /// Too many logins have failed.
    fileprivate static func tooMany(_ until: Duration) -> RouterVerdict {
        .refused(
            reason: WAMPURI.Error.unavailable, message: "too many logins have failed; try again in \(until.components.seconds + 1) s")
    }
}
