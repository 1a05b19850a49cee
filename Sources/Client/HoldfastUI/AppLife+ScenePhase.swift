#if canImport(SwiftUI)
    public import SessionCore
    public import SwiftUI

    extension AppLife.Input {
        /// What a scene's phase says of the app; nil for `inactive`, where people still see it.
        ///
        /// Give it to `WebSocket.tell(_:)`. Not together with `AppLifecycle`, which says the same.
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
