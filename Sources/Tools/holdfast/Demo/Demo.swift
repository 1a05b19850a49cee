import Holdfast
import HoldfastServer
import HoldfastTesting

/// Real messages between a client and a server, over a link that is cut.
struct Demo: Sendable {
    private static let messages = 30
    private static let cuts = 2
    private static let interval = Duration.milliseconds(150)
    /// Whatever happens, the demo is over well before 20 seconds.
    private static let limit = Duration.seconds(16)

    let stage: DemoStage

    /// Runs to the end; clean only if every promise was kept.
    func run() async -> Outcome {
        let server = WebSocketServer { connection, _ in
            for try await message in connection.messages { try await connection.send(message) }
        }
        do {
            return try await server.withRunning { running in
                await stage.say(.server, "echoes at \(running.url())")
                let link = try await FaultyLink.start(to: running.port)
                await stage.say(.link, "carries port \(link.port) to the server")
                await exchange(over: link)
                try await link.stop()
                return await stage.finish(messages: Self.messages, cuts: Self.cuts) ? .clean : .failed
            }
        } catch {
            await stage.say(.demo, "FAILED: \(error)", .bad)
            return .failed
        }
    }

    private func exchange(over link: FaultyLink) async {
        let socket = WebSocket("ws://127.0.0.1:\(link.port)/") { options in
            options.reconnect.backoff = Backoff(base: .milliseconds(400), cap: .seconds(2), jitter: .equal)
            (options.reconnect.stableAfter, options.reconnect.spacing) = (.seconds(1), .milliseconds(200))
        }
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await follow(socket, link)
                return true
            }
            group.addTask {
                await talk(over: socket)
                return false
            }
            group.addTask {
                for await state in socket.states { await stage.stands(state) }
                return false
            }
            group.addTask {
                guard (try? await Task.sleep(for: Self.limit)) != nil else { return false }
                await stage.say(.demo, "time is up", .bad)
                await socket.close()
                return true
            }
            while let isOver = await group.next(), !isOver {}
            group.cancelAll()
        }
    }

    /// Sends the numbers 1, 2, 3…, and waits while there is no connection.
    private func talk(over socket: WebSocket) async {
        var number = 1
        while number <= Self.messages, (try? await Task.sleep(for: Self.interval)) != nil {
            guard await stage.ledger.isOpen else { continue }
            await send(number, over: socket)
            number += 1
        }
    }

    private func send(_ number: Int, over socket: WebSocket) async {
        await stage.sent(number)
        // A failure needs no answer here: what has no echo is sent again on the next connection.
        _ = try? await socket.send(.text("message \(number)"))
    }

    private func follow(_ socket: WebSocket, _ link: FaultyLink) async {
        await withDiscardingTaskGroup { group in
            var cuts = 0
            for await event in socket.events {
                switch event {
                case .opened(let opening): await opened(opening.connection, socket)
                case .message(let message):
                    guard let number = Self.number(in: message) else { continue }
                    let count = await stage.echoed(number, step: 5)
                    if cuts < Self.cuts, count == Self.messages * (cuts + 1) / (Self.cuts + 1) {
                        cuts += 1
                        group.addTask { [cuts] in await breakLink(link, cuts) }
                    }
                    if count == Self.messages { await socket.close() }
                case .reconnecting(let attempt, let delay, let cause):
                    await stage.lost("\(cause.transport.detail.escapedOnOneLine); attempt \(attempt) after a pause of \(delay.phrase)")
                case .closed(let closure):
                    let words = closure.error.map { "gave up: \($0)" } ?? "closed: \(CloseCode.normal)"
                    await stage.say(.client, words, closure.error == nil ? nil : .bad)
                default: continue
                }
            }
        }
    }

    /// First as a phone loses its network, with messages on their way; then as a server restarts, away for a while.
    private func breakLink(_ link: FaultyLink, _ cut: Int) async {
        if cut == 1 {
            await stage.say(.link, "goes silent: takes everything, passes nothing on", .bad)
            link.stall()
            try? await Task.sleep(for: .milliseconds(400))
            await stage.say(.link, "CUT \(cut) of \(Self.cuts)", .bad)
            link.cut()
            link.resume()
        } else {
            await stage.say(.link, "CUT \(cut) of \(Self.cuts), and refuses to connect for a while", .bad)
            link.refuse()
            link.cut()
            try? await Task.sleep(for: .milliseconds(1200))
            await stage.say(.link, "welcomes connections again")
            link.welcome()
        }
    }

    private func opened(_ connection: WebSocketConnection, _ socket: WebSocket) async {
        let unanswered = await stage.opened(connection.compression == nil ? "" : ", permessage-deflate")
        for number in unanswered { await send(number, over: socket) }
        if let roundTrip = try? await connection.ping() { await stage.say(.client, "ping answered, round trip \(roundTrip.phrase)") }
    }

    private static func number(in message: Message) -> Int? {
        guard case .text(let text) = message, text.hasPrefix("message ") else { return nil }
        return Int(text.dropFirst("message ".count))
    }
}
