import CodecCore
import Logging
import MachineCore
import NIOCore
import WAMPCore
import WebSocketRuntime

/// Has clients examined that want to join, beside the router: one examination of each, with a deadline.
///
/// SAFETY: all is touched on the event loop of `core` only.
final class AdmissionDesk: @unchecked Sendable {
    private struct Case {
        let number: UInt64
        var tasks: [Task<Void, Never>] = []
    }
    typealias Answer = @Sendable (_ signature: String, _ extra: ValueMap) async throws -> WAMPAdmission

    private let authenticator: any WAMPAuthenticator
    private let patience: Duration
    private var cases: [RouterConnection: Case] = [:]
    private var answers: [RouterConnection: Answer] = [:]
    private var count: UInt64 = 0

    init(_ authenticator: any WAMPAuthenticator, patience: Duration) { (self.authenticator, self.patience) = (authenticator, patience) }

    /// Has a client examined; the core hears of the verdict.
    func examine(_ connection: RouterConnection, _ credentials: RouterCredentials, for core: RouterCore) {
        switch credentials {
        case .hello(let realm, let details):
            let (authenticator, applicant) = (authenticator, WAMPApplicant(realm: realm, details: details))
            answers[connection] = nil
            start(connection, core) { try await authenticator.examine(applicant) }
        case .answer(let signature, let extra):
            guard let answer = answers.removeValue(forKey: connection) else {
                return core.submit([.examined(connection, .unproven)])
            }
            start(connection, core) { try await answer(signature, extra) }
        }
    }

    /// A client is gone.
    func forget(_ connection: RouterConnection) {
        answers[connection] = nil
        for task in cases.removeValue(forKey: connection)?.tasks ?? [] { task.cancel() }
    }

    private func start(
        _ connection: RouterConnection, _ core: RouterCore, _ examine: @escaping @Sendable () async throws -> WAMPAdmission
    ) {
        count += 1
        let (number, deadline, time) = (count, core.time.now() + patience, core.time)
        // SAFETY: both end with the verdict or when the client is gone; the second, at the latest, at its deadline.
        let examination = Task {
            do {
                let admission = try await examine()
                core.loop.execute { self.conclude(connection, number, admission, core) }
            } catch {
                core.loop.execute { self.fail(connection, number, "\(error)", core) }
            }
        }
        let timer = Task {
            guard (try? await time.sleep(deadline)) != nil else { return }
            core.loop.execute { self.fail(connection, number, "it took too long", core) }
        }
        cases[connection] = Case(number: number, tasks: [examination, timer])
    }

    private func fail(_ connection: RouterConnection, _ number: UInt64, _ reason: String, _ core: RouterCore) {
        guard cases[connection]?.number == number else { return }
        core.configuration.logger.error("a client could not be examined: \(reason)")
        conclude(
            connection, number, .refused(reason: WAMPURI.Error.authenticationFailed, message: "who you are could not be found out"), core)
    }

    private func conclude(_ connection: RouterConnection, _ number: UInt64, _ admission: WAMPAdmission, _ core: RouterCore) {
        guard cases[connection]?.number == number else { return }
        forget(connection)
        switch admission {
        case .accepted(let principal): core.take([.examined(connection, .accepted(principal))])
        case .refused(let reason, let message): core.take([.examined(connection, .refused(reason: reason, message: message))])
        case .challenged(let method, let extra, let answer):
            answers[connection] = answer
            core.take([.examined(connection, .challenged(method: method, extra: extra))])
        }
    }
}

extension RouterVerdict {
    /// An answer came that nobody waits for.
    fileprivate static let unproven = RouterVerdict.refused(
        reason: WAMPURI.Error.authenticationFailed, message: "there was no challenge")
}
