#if canImport(SwiftUI)
    import Foundation

    extension Words {
        /// In the language of the app, as far as this package has it: English and German.
        static let system = system { _ in nil }

        /// An app's own texts before those of this package.
        static func system(overriding own: @escaping @Sendable (_ key: String) -> String?) -> Words {
            Words { key in
                if let text = own(key) { return text }
                // The key comes back where there is no text.
                let text = Bundle.module.localizedString(forKey: key, value: nil, table: nil)
                return text == key ? nil : text
            }
        }
    }
#endif
