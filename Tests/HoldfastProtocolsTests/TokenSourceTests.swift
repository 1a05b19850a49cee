import Holdfast
import HoldfastProtocols
import HoldfastTesting
import Testing
import WebSocketRuntime

@Suite(.timeLimit(.minutes(1))) struct TokenSourceTests {
    private struct NoService: Error, CustomStringConvertible { var description: String { "https://tokens/?key=s3cret" } }
    private let clock = ManualClock()
    private let secrets = SessionSecrets()

    private func source(_ provider: @escaping @Sendable () async throws -> String) -> TokenSource {
        TokenSource(within: .seconds(8), on: LinkTime(clock), secrets: secrets, provider)
    }

    @Test func `a token is returned, and hidden in logs`() async throws {
        #expect(try await source { "t0ken" }.token() == "t0ken")
        #expect(!secrets.hiding("refused: t0ken").contains("t0ken"))
    }

    @Test func `an app's error is reported by its type only`() async throws {
        do {
            _ = try await source { throw NoService() }.token()
            Issue.record("a token was returned")
        } catch {
            guard case .failed("NoService") = error else { throw error }
        }
    }

    @Test func `a provider can report that a retry cannot help`() async throws {
        do {
            _ = try await source { throw CredentialUnavailable(isRetryable: false, "sign in again") }.token()
            Issue.record("a token was returned")
        } catch {
            guard case .refused(let unavailable) = error else { throw error }
            #expect("\(unavailable)".contains("sign in again"))
        }
    }

    @Test func `a provider that takes too long is cancelled`() async throws {
        let ended = AsyncStream.makeStream(of: Bool.self)
        let source = source {
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
            ended.continuation.yield(true)
            return "late"
        }
        async let failure = { () async -> TokenSource.Failure? in
            do throws(TokenSource.Failure) {
                _ = try await source.token()
                return nil
            } catch { return error }
        }()
        #expect(await clock.nextSleep() == .seconds(8))
        clock.advance(by: .seconds(8))
        if case .timedOut? = await failure {} else { Issue.record("the request has not timed out") }
        for await isCancelled in ended.stream {
            #expect(isCancelled)
            break
        }
    }

    @Test func `only the last renewal returns its token`() async throws {
        let (asked, began) = AsyncStream.makeStream(of: Void.self)
        let isFirst = LockedValue(true)
        let source = source {
            let comesFirst = isFirst.withLockedValue { first -> Bool in
                defer { first = false }
                return first
            }
            guard comesFirst else { return "second" }
            began.yield()
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
            return "first"
        }
        let (tokens, taken) = AsyncStream.makeStream(of: String.self)
        source.renew { taken.yield($0) }
        for await _ in asked { break }
        source.renew { taken.yield($0) }
        for await token in tokens {
            #expect(token == "second")
            break
        }
    }
}
