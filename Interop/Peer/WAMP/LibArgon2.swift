#if canImport(Glibc)
    import Foundation
    import Glibc
    import HoldfastWAMP

    /// Argon2id of Debian's libargon2, loaded at the first use because other uses of this program do not need it.
    enum LibArgon2 {
        private typealias Function =
            @convention(c) (
                UInt32, UInt32, UInt32, UnsafeRawPointer?, Int, UnsafeRawPointer?, Int, UnsafeMutableRawPointer?, Int
            ) -> CInt
        struct Missing: Error {}
        struct Failed: Error { let code: CInt }

        static let argon2id = Argon2id { password, salt, iterations, memory in
            guard let library = dlopen("libargon2.so.1", RTLD_NOW), let symbol = dlsym(library, "argon2id_hash_raw") else {
                throw Missing()
            }
            // SAFETY: argon2.h declares the function so; version 1.3 is its default.
            let hash = unsafeBitCast(symbol, to: Function.self)
            var result = [UInt8](repeating: 0, count: 32)
            let code = result.withUnsafeMutableBytes { result in
                password.withUnsafeBytes { password in
                    salt.withUnsafeBytes { salt in
                        hash(
                            UInt32(iterations), UInt32(memory), 1, password.baseAddress, password.count, salt.baseAddress, salt.count,
                            result.baseAddress, result.count)
                    }
                }
            }
            guard code == 0 else { throw Failed(code: code) }
            return result
        }
    }
#endif
