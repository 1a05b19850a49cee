import MachineCore
import Testing

@testable import WAMPSigning

@Suite("PBKDF2")
struct PBKDF2Tests {
    /// RFC 7914 §11.
    @Test("the test vectors of RFC 7914 match")
    func vectors() throws {
        #expect(
            Hexadecimal.text(try PBKDF2.key(password: Array("passwd".utf8), salt: Array("salt".utf8), iterations: 1, length: 64))
                == "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
                + "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783")
        #expect(
            Hexadecimal.text(try PBKDF2.key(password: Array("Password".utf8), salt: Array("NaCl".utf8), iterations: 80000, length: 64))
                == "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
                + "a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d")
    }

    @Test("a cancelled task stops hashing")
    func cancellation() async {
        let task = Task { () throws(SigningError) -> [UInt8] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try PBKDF2.key(password: [1], salt: [2], iterations: .max, length: 32)
        }
        await #expect(throws: SigningError.cancelled) { try await task.value }
    }
}
