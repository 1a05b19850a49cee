// https://developer.apple.com/documentation/uikit/…
@_exported import Foundation
// uibackgroundtaskidentifier
public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
}
// uiapplication
@MainActor open class UIResponder: NSObject {}
@MainActor open class UIApplication: UIResponder {
    open class var shared: UIApplication { fatalError() }
    public enum State: Int, Sendable { case active, inactive, background }
    open var applicationState: State { fatalError() }
    // uiapplication/beginbackgroundtask(withname:expirationhandler:)
    nonisolated open func beginBackgroundTask(
        withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { fatalError() }
    nonisolated open func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
    nonisolated public class var didEnterBackgroundNotification: Notification.Name { fatalError() }
    nonisolated public class var willEnterForegroundNotification: Notification.Name { fatalError() }
    nonisolated public class var willTerminateNotification: Notification.Name { fatalError() }
}
