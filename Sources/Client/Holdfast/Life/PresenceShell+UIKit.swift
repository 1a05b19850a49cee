#if canImport(UIKit) && !os(watchOS)
    import SessionCore
    import UIKit

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
