import FuzzTargets
import Glibc

/// The target to run, from `HOLDFAST_FUZZ_TARGET`.
private let target: FuzzTarget = {
    let name = getenv("HOLDFAST_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        fatalError("HOLDFAST_FUZZ_TARGET is \(name), not one of \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return target
}()

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try target.run(UnsafeRawBufferPointer(start: bytes, count: count))
    } catch {
        fatalError("\(target.rawValue): \(error)")
    }
    return 0
}
