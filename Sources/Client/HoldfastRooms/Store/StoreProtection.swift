#if canImport(Darwin)
    import Foundation

    /// What Apple's systems do for the files of a store.
    enum StoreProtection {
        /// Keeps a directory out of backups, and has the system encrypt it until the device is unlocked for the first time.
        ///
        /// A message may have to be sent while the device is locked, but not before it was unlocked once.
        ///
        /// - Parameter files: Those of them that are there get it here; what is made later takes it over from the directory.
        /// - Returns: A sentence for each thing that did not work, to be told to whoever runs this.
        static func protect(_ directory: String, _ files: [String]) -> [String] {
            var sentences: [String] = []
            var (url, values) = (URL(fileURLWithPath: directory, isDirectory: true), URLResourceValues())
            values.isExcludedFromBackup = true
            do { try url.setResourceValues(values) } catch {
                sentences.append("\(directory) goes into backups, and cannot be kept out of them: \(error.localizedDescription)")
            }
            for path in [directory] + files where FileManager.default.fileExists(atPath: path) {
                do {
                    try FileManager.default.setAttributes(
                        [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
                } catch {
                    // A Mac encrypts whole volumes, and not every file system there takes it for a file.
                    #if !os(macOS)
                        sentences.append("\(path) cannot be protected while the device was never unlocked: \(error.localizedDescription)")
                    #endif
                }
            }
            return sentences
        }
    }
#endif
