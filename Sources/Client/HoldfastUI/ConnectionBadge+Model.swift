#if canImport(SwiftUI)
    import SwiftUI

    extension ConnectionBadge {
        /// Creates a badge that follows a model.
        @MainActor public init(_ model: ConnectionModel) { self.init(model.status) }
    }
#endif
