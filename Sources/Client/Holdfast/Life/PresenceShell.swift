#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
    import Foundation
    import MachineCore
    import SessionCore

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
