import ArgumentParser
import Foundation
import Holdfast
import HoldfastRooms
import HoldfastTerminal

struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Talk in a room of a hub.",
        discussion: """
            At a terminal it takes the whole screen. It shows the messages, with the delivery of your own ones (… waiting, ↑ sent, ✓ \
            stored, ✓✓ seen, ✗ failed), who is present and who is typing, and the state of the connection. It survives lost connections: \
            messages that are written in the meantime wait. ↑ on an empty line or Page up scrolls back, Control-R sends failed messages \
            again, Control-X discards them, and Control-C ends.

            With a pipe, or with --plain or --json, each line of standard input is a message, and each entry is printed as a line. The \
            command ends when the input has ended and everything is stored.

            EXAMPLE:
              holdfast serve hub --dev
              holdfast chat ws://localhost:9001/ --room lobby --name ann

            \(Outcome.table)
            """)

    @OptionGroup var options: RoomOptions

    @Flag(help: "Print lines instead of using the whole screen.")
    var plain = false

    @Flag(help: "Print lines of JSON.")
    var json = false

    @Option(help: ArgumentHelp("How many earlier messages to show at first, if nothing is stored.", valueName: "count"))
    var last = 50

    @Option(
        help: ArgumentHelp(
            "With a pipe: how long to wait for each message to be stored, after the previous one.", valueName: "seconds"))
    var timeout = Seconds(30)

    func validate() throws {
        guard 0...10_000 ~= last else { throw ValidationError("--last: use 0 to 10000.") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let rooms = try await options.rooms(environment: environment)
        let isScreen = !plain && !json && StandardInput.isTerminal && StandardOutput.isTerminal && environment["TERM"] != "dumb"
        let style = Style(isTerminal: StandardOutput.isTerminal, environment: environment)
        let outcome = await ending(rooms) {
            do throws(RoomsError) {
                let room = try await rooms.join(options.room, from: .last(last))
                let session = ChatSession(rooms: rooms, room: room, style: style, hasStore: options.store != nil)
                return isScreen ? await session.show() : await session.pipe(json: json, patience: timeout.duration)
            } catch {
                StandardOutput.warn("\(error)".escapedOnOneLine)
                return Outcome(error)
            }
        }
        if outcome != .clean { throw outcome.code }
    }
}

/// One run of `chat`.
struct ChatSession: Sendable {
    let rooms: Rooms
    let room: Room
    let style: Style
    /// Whether unsent messages are kept in a file, and not only in memory.
    let hasStore: Bool
    private static let framesPerSecond = 20

    // MARK: - On the whole screen

    /// Shows the chat until a key ends it.
    func show() async -> Outcome {
        let screen = await ChatScreen(ChatModel(room), style: style)
        guard await screen.open() else { return .failed }
        let outcome = await withTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1) / Self.framesPerSecond)) != nil { await screen.draw() }
                return nil
            }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1))) != nil { await screen.note(try? await rooms.socket.ping()) }
                return nil
            }
            group.addTask {
                await screen.loadEarlier()
                return nil
            }
            group.addTask { await talk(on: screen) }
            var outcome: Outcome?
            while outcome == nil, let next = await group.next() { outcome = next }
            group.cancelAll()
            await group.waitForAll()
            return outcome ?? .failed
        }
        let waiting = room.outbox.count { $0.stage.position == nil }
        if waiting > 0 {
            let end = hasStore ? "not stored by the hub yet; --store is sent with its next use" : "not stored, and lost"
            StandardOutput.warn(style.paint("* \(waiting.counted("message")) \(end)", .note))
        }
        return outcome
    }

    /// Processes keys until one ends the chat; when it returns, all sent texts are in the outbox.
    private func talk(on screen: ChatScreen) async -> Outcome? {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await screen.send() }
            let input = StandardInput()
            while let bytes = await input.read(), await screen.type(bytes) {}
            await screen.close()  // From now on, Control-C is SIGINT again.
        }
        return Task.isCancelled ? nil : .clean
    }

    // MARK: - Lines in, lines out

    /// Sends the lines of standard input and prints the entries, until the input has ended and everything sent is stored.
    func pipe(json: Bool, patience: Duration) async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await printEntries(json: json) }
            group.addTask { await sendLines(patience: patience) }
            var outcome: Outcome?
            while outcome == nil, let next = await group.next() { outcome = next }
            group.cancelAll()
            return outcome ?? .failed
        }
    }

    private func printEntries(json: Bool) async -> Outcome? {
        do throws(RoomsError) {
            for try await update in room.messages {
                guard let entry = update.entry else { continue }
                if let line = json ? EntryLine.json(entry, room: room.name) : EntryLine.text(entry) { StandardOutput.write(line + "\n") }
                room.readUpTo(entry.seq)
            }
            return nil
        } catch {
            StandardOutput.warn("\(error)".escapedOnOneLine)
            return Outcome(error)
        }
    }

    private func sendLines(patience: Duration) async -> Outcome? {
        let sender = LineSender(rooms: rooms, patience: patience, skipsEmpty: true) { text throws(RoomsError) in
            try await room.send(ChatText(text))
        }
        let (outcome, last) = await sender.send(Lines(texts: [])) { result in
            switch result {
            case .stored: break
            case .failed(_, let error): StandardOutput.warn("\(error)".escapedOnOneLine)
            case .unfit(let reason): StandardOutput.warn(reason)
            }
        }
        if Task.isCancelled { return nil }
        if let last { await printed(last, within: patience) }
        return outcome
    }

    /// Waits until an entry is printed; the read marker shows which entries are.
    private func printed(_ position: LogPosition, within patience: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await status in room.statuses where status.cursor.epoch != position.epoch || status.read >= position.seq { return }
            }
            group.addTask { try? await Task.sleep(for: patience) }
            await group.next()
            group.cancelAll()
        }
    }
}

extension ChatScreen {
    /// Sets the measured round trip.
    func note(_ trip: Duration?) { roundTrip = trip }
}
