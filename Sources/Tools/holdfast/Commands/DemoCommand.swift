import ArgumentParser
import Foundation
import Holdfast
import HoldfastHub
import HoldfastRooms
import HoldfastTerminal
import HoldfastTesting

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Watch a conversation survive cut links and a hub that is killed in the middle.",
        discussion: """
            Starts a hub in its own process, a link to it that the demo cuts twice, and two clients. The clients talk through the link \
            while the hub is killed with -9 and restarted. Takes about ten seconds. The status is 0 only if every message arrived once, \
            and in the same order for all.
            """)

    func run() async throws {
        let style = Style(isTerminal: StandardOutput.isTerminal, environment: ProcessInfo.processInfo.environment)
        let outcome = await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await Demo(stage: DemoStage(timeline: DemoTimeline(style: style))).run() }
            // The hub must not outlive the process that started it.
            group.addTask { await Signals.firstEnding() }
            let outcome = await group.next() ?? nil
            group.cancelAll()
            return outcome ?? .failed
        }
        if outcome != .clean { throw outcome.code }
    }
}

/// A conversation of two clients over a link that is cut, with a hub that is killed in the middle.
struct Demo: Sendable {
    private static let parties: [DemoTimeline.Party] = [.ann, .bob]
    private static let room = "demo"
    private static let messages = 24
    private static let interval = Duration.milliseconds(250)
    /// The time limit for the conversation, which takes about 8 seconds.
    private static let limit = Duration.seconds(60)
    private static let words = [
        "hello", "hi, who is there?", "just us two", "and a hub", "which keeps everything", "on its disk", "what if the link breaks?",
        "we go on", "and if it is cut?", "I keep typing", "it waits here", "and goes out later", "what if the hub is killed?",
        "with -9?", "yes, in the middle", "then it reads its log", "and we ask what we missed", "nothing twice?", "nothing twice",
        "nothing lost?", "count them", "I will", "see you", "bye",
    ]

    let stage: DemoStage

    /// Runs the demo; returns a clean outcome only if every message arrived once and in order.
    func run() async -> Outcome {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-demo-\(UUID().uuidString)")
        let hub = DemoHub(directory: directory.appendingPathComponent("hub").path)
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let port = try await hub.start()
            await stage.say(.hub, "its own process, on port \(port), with its log in a directory")
            let link = try await FaultyLink.start(to: port)
            await stage.say(.link, "carries port \(link.port) to the hub")
            var stores: [String: SQLiteRoomStore] = [:]
            for party in Self.parties {
                stores[party.rawValue] = try SQLiteRoomStore(path: directory.appendingPathComponent(party.rawValue).path)
            }
            await converse(over: link, hub, stores)
            try await link.stop()
            await hub.stop()
            try Task.checkCancellation()
            try await count(directory, stores)
            for store in stores.values { try store.close() }
        } catch {
            await hub.kill()
            await stage.say(.demo, "FAILED: \(error)", .bad)
            return .failed
        }
        let isKept = await stage.finish(messages: Self.messages, clients: Self.parties.count)
        await invite()
        return isKept ? .clean : .failed
    }

    /// Prints how to try it yourself.
    private func invite() async {
        await stage.say(.demo, "Now you. In one terminal:    holdfast serve hub --dev")
        await stage.say(.demo, "In a browser, or two:        http://127.0.0.1:9001/  (and /status)")
        await stage.say(.demo, "In another terminal:         holdfast chat ws://127.0.0.1:9001/ --room lobby --name ann")
    }

    // MARK: - The conversation

    private func converse(over link: FaultyLink, _ hub: DemoHub, _ stores: [String: SQLiteRoomStore]) async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                guard (try? await Task.sleep(for: Self.limit)) != nil else { return false }
                await stage.say(.demo, "time is up", .bad)
                return true
            }
            group.addTask {
                await talk(over: link, hub, stores)
                return true
            }
            _ = await group.next()
            group.cancelAll()
        }
    }

    private func talk(over link: FaultyLink, _ hub: DemoHub, _ stores: [String: SQLiteRoomStore]) async {
        var (all, rooms) = ([Rooms](), [Room]())
        for party in Self.parties {
            guard let store = stores[party.rawValue] else { continue }
            let client = Rooms("ws://127.0.0.1:\(link.port)/rooms", store: store) {
                "dev:\(party.rawValue)"
            } configure: { options in
                options.reconnect.backoff = Backoff(base: .milliseconds(300), cap: .seconds(1), jitter: .equal)
                (options.reconnect.stableAfter, options.reconnect.spacing) = (.seconds(1), .milliseconds(200))
            }
            all.append(client)
            if let room = try? await client.join(Self.room, from: .beginning) { rooms.append(room) }
        }
        let (clients, joined) = (all, rooms)
        guard joined.count == Self.parties.count else { return }
        await withTaskGroup(of: Void.self) { group in
            for (party, room) in zip(Self.parties, joined) { group.addTask { await show(room, to: party) } }
            group.addTask { for await state in clients[0].socket.states { await stage.stands(state) } }
            await speak(in: joined, link, hub)
            // Wait until everything was shown to everybody, or the time is up.
            while !Task.isCancelled, await !isEverythingShown { try? await Task.sleep(for: .milliseconds(20)) }
            group.cancelAll()
        }
        for client in clients { await client.close() }
    }

    private var isEverythingShown: Bool {
        get async {
            for party in Self.parties where await stage.shownCount(to: party) < Self.messages { return false }
            return true
        }
    }

    private func show(_ room: Room, to party: DemoTimeline.Party) async {
        do {
            for try await update in room.messages {
                switch update {
                case .entry(let entry):
                    await stage.shown(entry, to: party)
                    room.readUpTo(entry.seq)
                case .replaced: await stage.say(party, "starts again from a snapshot", .note)
                }
            }
        } catch {
            await stage.say(party, "\(error)", .bad)
        }
    }

    /// Sends the messages in turn, whatever happens meanwhile; returns when all are stored.
    private func speak(in rooms: [Room], _ link: FaultyLink, _ hub: DemoHub) async {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<Self.messages {
                guard (try? await Task.sleep(for: Self.interval)) != nil else { return }
                let place = number % rooms.count
                let (party, room, text) = (Self.parties[place], rooms[place], Self.words[number % Self.words.count])
                let start = ContinuousClock.now
                do throws(RoomsError) {
                    let receipt = try await room.send(ChatText(text))
                    await stage.sent(receipt.id, text, by: party.rawValue)
                    group.addTask {
                        for await step in receipt.stages { await stage.stage(step, of: text, by: party, after: start.duration(to: .now)) }
                    }
                } catch {
                    await stage.say(party, "\(error)", .bad)
                }
                if let fault = Self.fault(after: number) { group.addTask { await carryOut(fault, link, hub) } }
            }
        }
    }

    // MARK: - What goes wrong

    private enum Fault { case silence, kill, cut }

    private static func fault(after number: Int) -> Fault? {
        switch number {
        case 5: .silence
        case 11: .kill
        case 18: .cut
        default: nil
        }
    }

    private func carryOut(_ fault: Fault, _ link: FaultyLink, _ hub: DemoHub) async {
        switch fault {
        case .silence:
            await stage.say(.link, "goes silent: forwards nothing", .bad)
            link.stall()
            try? await Task.sleep(for: .milliseconds(500))
            await stage.say(.link, "CUT", .bad)
            link.cut()
            link.resume()
        case .kill:
            await hub.kill()
            await stage.say(.hub, "KILLED with -9", .bad)
            try? await Task.sleep(for: .milliseconds(900))
            do {
                _ = try await hub.start()
                await stage.say(.hub, "started again on the same log", .good)
            } catch {
                await stage.say(.hub, "\(error)", .bad)
            }
        case .cut:
            await stage.say(.link, "CUT, and refuses connections for a while", .bad)
            link.refuse()
            link.cut()
            try? await Task.sleep(for: .milliseconds(800))
            link.welcome()
            await stage.say(.link, "accepts connections again")
        }
    }

    // MARK: - The count

    /// Reads the log and the stores from disk.
    private func count(_ directory: URL, _ stores: [String: SQLiteRoomStore]) async throws {
        guard let room = RoomName(Self.room) else { return }
        var found: [String: [Entry]] = [:]
        for (party, store) in stores { found[party] = try await store.entries(room, before: nil, limit: 10_000) }
        await stage.found(
            log: try await HubLogFile.entries(of: room, in: directory.appendingPathComponent("hub").path), stores: found)
    }
}
