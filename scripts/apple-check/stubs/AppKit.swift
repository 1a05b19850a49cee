// https://developer.apple.com/documentation/appkit/…
@_exported import Foundation
// nsworkspace/notificationcenter, nsworkspace/willsleepnotification, nsworkspace/didwakenotification
open class NSWorkspace: NSObject {
    @MainActor open class var shared: NSWorkspace { fatalError() }
    @MainActor open var notificationCenter: NotificationCenter { fatalError() }
    nonisolated public class var willSleepNotification: Notification.Name { fatalError() }
    nonisolated public class var didWakeNotification: Notification.Name { fatalError() }
}
// nsapplication/willterminatenotification
@MainActor open class NSResponder: NSObject {}
@MainActor open class NSApplication: NSResponder {
    nonisolated public class var willTerminateNotification: Notification.Name { fatalError() }
}
