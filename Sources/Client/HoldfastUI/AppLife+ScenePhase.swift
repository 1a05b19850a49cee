#if canImport(SwiftUI)
    public import SessionCore
    public import SwiftUI

    extension AppLife.Input {
        /// Creates the app state for a scene's phase; nil for `inactive`, in which the scene is still visible.
        ///
        /// Pass it to `WebSocket.notify(_:)`. Do not combine it with `AppLifecycle`, which reports the same.
        public init?(_ phase: ScenePhase) {
            switch phase {
            case .active: self = .foreground
            case .background: self = .background
            case .inactive: return nil
            @unknown default: return nil
            }
        }
    }
#endif
