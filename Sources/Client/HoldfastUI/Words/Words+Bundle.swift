#if canImport(SwiftUI)
    import Foundation

    extension Words {
        /// The texts in the app's language, if this package has it (English and German).
        static let system = system { _ in nil }

        /// Returns texts that use the app's own texts first, then those of this package.
        static func system(overriding own: @escaping @Sendable (_ key: String) -> String?) -> Words {
            Words { key in
                if let text = own(key) { return text }
                // The function returns the key if there is no text.
                let text = Bundle.module.localizedString(forKey: key, value: nil, table: nil)
                return text == key ? nil : text
            }
        }
    }
#endif
