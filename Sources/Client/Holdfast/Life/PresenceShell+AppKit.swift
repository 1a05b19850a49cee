#if canImport(AppKit) && !canImport(UIKit)
    import AppKit
    import SessionCore

    extension PresenceShell {
        /// Listens to the machine and the application.
        func observeSystem() {
            observe(NSWorkspace.willSleepNotification, of: NSWorkspace.shared.notificationCenter, as: .ending)
            observe(NSWorkspace.didWakeNotification, of: NSWorkspace.shared.notificationCenter, as: .returned)
            observe(NSApplication.willTerminateNotification, of: .default, as: .ending)
        }
    }

    /// A Mac app runs on in the background without asking.
    @MainActor final class SystemBackgroundTime: BackgroundTime {
        func borrow(_ expire: @escaping @MainActor @Sendable () -> Void) {}
        func giveBack() {}
    }
#endif
