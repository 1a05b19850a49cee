#if canImport(AppKit) && !canImport(UIKit)
    import AppKit
    import SessionCore

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
