#if canImport(SwiftUI)
    import SwiftUI

    extension ConnectionBadge {
        /// A badge that follows a model.
        @MainActor public init(_ model: ConnectionModel) { self.init(model.status) }
    }
#endif
