#if canImport(Darwin)
    import Foundation

    /// Protection of a store's files on Apple's systems.
    enum StoreProtection {
        /// Excludes a directory from backups, and has the system encrypt it until the device is unlocked for the first time.
        ///
        /// A message may have to be sent while the device is locked, but not before the first unlock.
        ///
        /// - Parameter files: The files to protect now, if they exist; files created later inherit the protection from the directory.
        /// - Returns: One warning for the operator for each step that failed.
        static func protect(_ directory: String, _ files: [String]) -> [String] {
            var sentences: [String] = []
            var (url, values) = (URL(fileURLWithPath: directory, isDirectory: true), URLResourceValues())
            values.isExcludedFromBackup = true
            do { try url.setResourceValues(values) } catch {
                sentences.append("\(directory) cannot be excluded from backups: \(error.localizedDescription)")
            }
            for path in [directory] + files where FileManager.default.fileExists(atPath: path) {
                do {
                    try FileManager.default.setAttributes(
                        [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
                } catch {
                    // A Mac encrypts whole volumes, and not every file system there supports protection of single files.
                    #if !os(macOS)
                        sentences.append("\(path) cannot be protected before the first unlock: \(error.localizedDescription)")
                    #endif
                }
            }
            return sentences
        }
    }
#endif
