#if canImport(UIKit) && !os(watchOS)
    import SessionCore
    import UIKit

    extension PresenceShell {
        /// Listens to the application.
        func observeSystem() {
            let center = NotificationCenter.default
            observe(UIApplication.didEnterBackgroundNotification, of: center, as: .left)
            observe(UIApplication.willEnterForegroundNotification, of: center, as: .returned)
            observe(UIApplication.willTerminateNotification, of: center, as: .ending)
            if UIApplication.shared.applicationState == .background { handle(.left) }
        }
    }

    /// `beginBackgroundTask`: some 30 s at most, less when the system is short of them.
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
