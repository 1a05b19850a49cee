#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
    import Foundation
    import MachineCore
    public import SessionCore
#endif

#if canImport(UIKit) && !os(watchOS)
    import UIKit
#endif

#if canImport(AppKit) && !canImport(UIKit)
    import AppKit
#endif

#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
    /// A source of the app's state from the system: in the background, in the foreground, about to end or to sleep.
    ///
    /// ```swift
    /// let socket = WebSocket("wss://example.com/feed") { $0.lifeSource = AppLifecycle() }
    /// ```
    /// With UIKit it asks the system for background time when the app leaves the foreground, so that `BackgroundPolicy` can finish the close
    /// handshake before the app is suspended. On a Mac an app continues to run when it is not in front, so only sleep, wake and
    /// termination count. An app extension has no application object: call ``WebSocket/notify(_:)-(AppLife.Input)`` there.
    public struct AppLifecycle: LifeSource {
        private let extraTime: Duration?

        /// Creates a source that asks for this much background time; nil: none.
        ///
        /// It has no effect on a Mac.
        public init(extraTime: Duration? = .seconds(20)) { self.extraTime = extraTime }

        /// Returns the changes of the app's state.
        public func updates() -> AsyncStream<AppLife.Input> {
            let presence = AppPresence(extraTime: extraTime)
            return AsyncStream { continuation in
                // SAFETY: ends with the stream that it feeds.
                let task = Task { @MainActor in
                    let shell = PresenceShell(presence, SystemBackgroundTime(), continuation)
                    shell.observeSystem()
                    // Runs until it is cancelled.
                    let (never, keep) = AsyncStream.makeStream(of: Never.self)
                    for await _ in never {}
                    keep.finish()
                    shell.end()
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        }
    }

    /// Runs an `AppPresence` on the main actor, within the notification call, because afterwards the app may be suspended.
    @MainActor final class PresenceShell {
        private var presence: AppPresence
        private let notify: AsyncStream<AppLife.Input>.Continuation
        private let time: any BackgroundTime
        private var alarm: Task<Void, Never>?
        private let origin = ContinuousClock.now
        private var observers: [(center: NotificationCenter, token: any NSObjectProtocol)] = []

        init(_ presence: AppPresence, _ time: any BackgroundTime, _ notify: AsyncStream<AppLife.Input>.Continuation) {
            (self.presence, self.time, self.notify) = (presence, time, notify)
        }

        /// Handles a notification as an input from now on.
        func observe(_ name: Notification.Name, of center: NotificationCenter, as input: AppPresence.Input) {
            let token = center.addObserver(forName: name, object: nil, queue: .main) { [weak self] _ in
                MainActor.assumeIsolated { self?.handle(input) }
            }
            observers.append((center, token))
        }

        func handle(_ input: AppPresence.Input) { apply { $0.handle(input, at: $1, into: &$2) } }

        /// Stops observing, and ends the background time.
        func end() {
            for (center, token) in observers { center.removeObserver(token) }
            observers = []
            alarm?.cancel()
            time.giveBack()
        }

        private func apply(_ change: (inout AppPresence, Moment, inout [AppPresence.Effect]) -> Void) {
            var effects: [AppPresence.Effect] = []
            change(&presence, Moment(origin.duration(to: .now)), &effects)
            for effect in effects {
                switch effect {
                case .notify(let input): notify.yield(input)
                case .borrow: time.borrow { [weak self] in self?.handle(.expired) }
                case .giveBack: time.giveBack()
                }
            }
            alarm?.cancel()
            guard let deadline = presence.deadline else { return }
            let instant = origin + deadline.offset
            // SAFETY: cancelled by the next input and at the end; holds the shell weakly.
            alarm = Task { [weak self] in
                guard (try? await ContinuousClock().sleep(until: instant)) != nil else { return }
                self?.apply { $0.wake(at: $1, into: &$2) }
            }
        }
    }

    /// Background time, during which an app may continue to run.
    @MainActor protocol BackgroundTime: AnyObject {
        /// Asks for time; `expire` is called when the system wants it back at once.
        func borrow(_ expire: @escaping @MainActor @Sendable () -> Void)
        /// Ends the background time; harmless if there is none.
        func giveBack()
    }
#endif

#if canImport(UIKit) && !os(watchOS)
    extension PresenceShell {
        /// Observes the application's state changes.
        func observeSystem() {
            let center = NotificationCenter.default
            observe(UIApplication.didEnterBackgroundNotification, of: center, as: .left)
            observe(UIApplication.willEnterForegroundNotification, of: center, as: .returned)
            observe(UIApplication.willTerminateNotification, of: center, as: .ending)
            if UIApplication.shared.applicationState == .background { handle(.left) }
        }
    }

    /// Background time from `beginBackgroundTask`: about 30 s at most, less when the system has little to give.
    @MainActor final class SystemBackgroundTime: BackgroundTime {
        private var task = UIBackgroundTaskIdentifier.invalid

        func borrow(_ expire: @escaping @MainActor @Sendable () -> Void) {
            task = UIApplication.shared.beginBackgroundTask(withName: "holdfast.close", expirationHandler: expire)
        }

        func giveBack() {
            guard task != .invalid else { return }
            UIApplication.shared.endBackgroundTask(task)
            task = .invalid
        }
    }
#endif

#if canImport(AppKit) && !canImport(UIKit)
    extension PresenceShell {
        /// Observes sleep, wake and termination.
        func observeSystem() {
            observe(NSWorkspace.willSleepNotification, of: NSWorkspace.shared.notificationCenter, as: .ending)
            observe(NSWorkspace.didWakeNotification, of: NSWorkspace.shared.notificationCenter, as: .returned)
            observe(NSApplication.willTerminateNotification, of: .default, as: .ending)
        }
    }

    /// Background time on a Mac, where apps need not ask for it.
    @MainActor final class SystemBackgroundTime: BackgroundTime {
        func borrow(_ expire: @escaping @MainActor @Sendable () -> Void) {}
        func giveBack() {}
    }
#endif
